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

/** Notes the place of a view. @internal */
export function keepPlace(view: object, place: ViewPlace): void {
  places.set(view, place);
}

/** The place of a view; `undefined` for what is no view. @internal */
export function placeOf(view: unknown): ViewPlace | undefined {
  return typeof view === "object" && view !== null ? places.get(view) : undefined;
}

/**
 * The options of a program with the place of its view. A directory and variables that the caller names are kept.
 * @internal
 */
export function inPlace<T extends { view?: unknown; cwd?: string | undefined; env?: Record<string, string | undefined> | undefined }>(options: T): T {
  const place = placeOf(options.view);
  return place ? { ...options, cwd: options.cwd ?? place.path, env: { ...place.env, ...options.env } } : options;
}
