/**
 * Converts pixels to PNG and back, and removes the orientation from image files.
 * @module
 */
import { deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
/** The number of samples per pixel for each PNG colour type. */
const CHANNELS: Record<number, number> = { 0: 1, 2: 3, 4: 2, 6: 4 };
const RGBA = 6;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Returns the checksum of a PNG chunk. `node:zlib` only has this function since Node 20.15. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] as number);
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const all = Buffer.alloc(body.length + 8);
  all.writeUInt32BE(data.length, 0);
  body.copy(all, 4);
  all.writeUInt32BE(crc32(body), body.length + 4);
  return all;
}

/** Encodes RGBA pixels as a PNG. @internal */
export function pngOf(pixels: Uint8Array, width: number, height: number): Buffer {
  const row = width * 4;
  if (pixels.length !== row * height) throw new Error(`${width} × ${height} pixels need ${row * height} bytes, not ${pixels.length}`);
  const lines = Buffer.alloc((row + 1) * height);
  for (let y = 0; y < height; y++) lines.set(pixels.subarray(y * row, (y + 1) * row), y * (row + 1) + 1);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, RGBA, 0, 0, 0], 8);
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("IDAT", deflateSync(lines, { level: 1 })), chunk("IEND", new Uint8Array())]);
}

function paeth(a: number, b: number, c: number): number {
  const p = a + b - c;
  const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/** Undoes the row filters of a PNG. */
function unfiltered(data: Buffer, row: number, height: number, step: number): Uint8Array {
  const out = new Uint8Array(row * height);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const at = y * row + x;
      const left = x >= step ? (out[at - step] as number) : 0;
      const up = y > 0 ? (out[at - row] as number) : 0;
      const corner = x >= step && y > 0 ? (out[at - row - step] as number) : 0;
      const add = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter as number];
      if (add === undefined) throw new Error(`unknown filter ${filter} in a PNG`);
      out[at] = (data[y * (row + 1) + 1 + x] as number) + add;
    }
  }
  return out;
}

/** Decodes a PNG with 8 bits per sample to RGBA pixels. @internal */
export function pixelsOf(png: Buffer): Uint8Array {
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; at += png.readUInt32BE(at) + 12) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height, depth, colour] = [png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25] as number];
  const channels = CHANNELS[colour];
  if (depth !== 8 || channels === undefined) throw new Error(`PNGs with ${depth} bits and colour type ${colour} are not supported`);
  const samples = unfiltered(inflateSync(Buffer.concat(parts)), width * channels, height, channels);
  if (channels === 4) return samples;
  const pixels = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at++) {
    const from = at * channels;
    const grey = channels < 3;
    for (let each = 0; each < 3; each++) pixels[at * 4 + each] = samples[from + (grey ? 0 : each)] as number;
    pixels[at * 4 + 3] = channels === 2 ? (samples[from + 1] as number) : 255;
  }
  return pixels;
}

/** Yields the marker, start and end of each segment of a JPEG before its pixels. */
function* segments(jpeg: Buffer): Generator<[marker: number, start: number, end: number]> {
  for (let at = 2; at + 4 <= jpeg.length && jpeg[at] === 0xff && jpeg[at + 1] !== 0xda; ) {
    const end = at + 2 + jpeg.readUInt16BE(at + 2);
    yield [jpeg[at + 1] as number, at, end];
    at = end;
  }
}

/**
 * Returns a file without its EXIF data. Photon does not apply the EXIF orientation, but the addon would.
 * @internal
 */
export function withoutOrientation(file: Uint8Array): Uint8Array {
  const bytes = Buffer.from(file);
  if (bytes.length < 12) return bytes;
  if (bytes.readUInt16BE(0) === 0xffd8) {
    const exif = [...segments(bytes)].filter(([marker, start]) => marker === 0xe1 && bytes.toString("latin1", start + 4, start + 8) === "Exif");
    const ends = [...exif.map(([, start]) => start), bytes.length];
    return Buffer.concat(ends.map((end, at) => bytes.subarray(at === 0 ? 0 : (exif[at - 1] as [number, number, number])[2], end)));
  }
  const isWebp = bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP";
  if (isWebp || bytes.subarray(0, 8).equals(SIGNATURE)) {
    // Chunks with unknown names are skipped by decoders. In a PNG, the checksum includes the name.
    for (let at = isWebp ? 12 : 8; at + 8 <= bytes.length; ) {
      const length = isWebp ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at);
      const name = isWebp ? at : at + 4;
      if (/^exif$/i.test(bytes.toString("latin1", name, name + 4))) {
        bytes.write("nOnE", name, "latin1");
        if (!isWebp && at + 12 + length <= bytes.length) bytes.writeUInt32BE(crc32(bytes.subarray(at + 4, at + 8 + length)), at + 8 + length);
      }
      at += isWebp ? 8 + length + (length & 1) : 12 + length;
    }
  }
  return bytes;
}
