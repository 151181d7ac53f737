/**
 * Where the programs of an isolated view run: its directory and its variables.
 * @module
 */

/** The directory and the variables of a view. @internal */
export interface ViewPlace {
  path: string;
  env: Readonly<Record<string, string>>;
}

const places = new WeakMap<object, ViewPlace>();

/** Records the directory and the variables of a view. @internal */
export function keepPlace(view: object, place: ViewPlace): void {
  places.set(view, place);
}

/** Returns the directory and the variables of a view; `undefined` for any other value. @internal */
export function placeOf(view: unknown): ViewPlace | undefined {
  return typeof view === "object" && view !== null ? places.get(view) : undefined;
}

/**
 * Adds the directory and the variables of the view to the options of a program. The caller's own values have priority.
 * @internal
 */
export function inPlace<T extends { view?: unknown; cwd?: string | undefined; env?: Record<string, string | undefined> | undefined }>(options: T): T {
  const place = placeOf(options.view);
  return place ? { ...options, cwd: options.cwd ?? place.path, env: { ...place.env, ...options.env } } : options;
}
