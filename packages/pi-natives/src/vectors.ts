/**
 * Scores of vectors and texts.
 * @module
 */

/** The rows of a matrix that are most similar to a vector. */
export interface VectorTopK {
  /** Row numbers, best first. */
  indices: Uint32Array;
  scores: Float64Array;
}

/**
 * Multiplies every row of a matrix by a vector, which is normalized first. Returns the `limit` best rows; rows with
 * equal scores keep their order.
 */
export function vectorIndexTopK(matrix: Float32Array, dimensions: number, query: Float64Array, limit: number): VectorTopK {
  const norm = Math.sqrt(query.reduce((sum, each) => sum + each * each, 0));
  const unit = query.map((each) => each / norm);
  const columns = Math.min(unit.length, dimensions);
  const rows = Array.from({ length: Math.floor(matrix.length / dimensions) }, (_, row) => {
    let score = 0;
    for (let column = 0; column < columns; column++) score += (matrix[row * dimensions + column] as number) * (unit[column] as number);
    return { row, score };
  });
  const best = rows.sort((a, b) => b.score - a.score || a.row - b.row).slice(0, limit);
  return { indices: Uint32Array.from(best, ({ row }) => row), scores: Float64Array.from(best, ({ score }) => score) };
}

/**
 * Returns all pairs `i, j` of `count` vectors with `i < j` and a cosine similarity of at least `threshold`,
 * concatenated.
 */
export function cosineSimilarityPairs(vectors: Float64Array, count: number, dim: number, threshold: number): Uint32Array {
  const rows = Array.from({ length: count }, (_, at) => vectors.subarray(at * dim, (at + 1) * dim));
  const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, each, at) => sum + each * (b[at] as number), 0);
  const norms = rows.map((row) => Math.sqrt(dot(row, row)));
  const pairs: number[] = [];
  for (let i = 0; i < count; i++) {
    for (let j = i + 1; j < count; j++) {
      const length = (norms[i] as number) * (norms[j] as number);
      const cosine = length === 0 ? 0 : dot(rows[i] as Float64Array, rows[j] as Float64Array) / length;
      if (cosine >= threshold) pairs.push(i, j);
    }
  }
  return Uint32Array.from(pairs);
}

function words(text: string): Set<string> {
  return new Set(text.toLowerCase().split(/\s+/).filter(Boolean));
}

function similarity(a: Set<string>, b: Set<string>): number {
  let both = 0;
  for (const word of a) if (b.has(word)) both += 1;
  const either = a.size + b.size - both;
  return either === 0 ? 0 : both / either;
}

/**
 * Selects texts that are relevant and differ from each other. The first one is always selected; each next one has the largest
 * `lambda * score - (1 - lambda) * similarity`, where the similarity is the largest share of common words with a selected text.
 */
export function mmrRerankIndices(contents: string[], scores: Float64Array, lambda: number, topK: number): Uint32Array {
  const sets = contents.map(words);
  const left = contents.map((_, at) => at);
  const nearest = contents.map(() => 0);
  const chosen: number[] = [];
  while (left.length && chosen.length < topK) {
    let best = 0;
    if (chosen.length) {
      const value = (at: number) => lambda * (scores[at] as number) - (1 - lambda) * (nearest[at] as number);
      for (let each = 1; each < left.length; each++) if (value(left[each] as number) > value(left[best] as number)) best = each;
    }
    const [next = 0] = left.splice(best, 1);
    chosen.push(next);
    for (const each of left) nearest[each] = Math.max(nearest[each] as number, similarity(sets[each] as Set<string>, sets[next] as Set<string>));
  }
  return Uint32Array.from(chosen);
}
