/**
 * The part of `sharp` that agents use: read, resize, crop, write. Other methods do not exist, or throw an error.
 * @module
 */
import { readFile, writeFile } from "node:fs/promises";
import { ImageFormat, PhotonImage, SamplingFilter } from "../index.js";
import { pixelsOf, pngOf } from "./photon-pixels.js";
import type * as types from "./sharp-types.js";
import type { Colour, Metadata, OutputInfo, OutputOptions, Region, ResizeOptions, SharpInput } from "./sharp-types.js";

const KERNELS = { nearest: SamplingFilter.Nearest, linear: SamplingFilter.Triangle, cubic: SamplingFilter.CatmullRom, lanczos3: SamplingFilter.Lanczos3 };
const FORMATS: Record<string, ImageFormat> = { png: ImageFormat.PNG, jpeg: ImageFormat.JPEG, jpg: ImageFormat.JPEG, webp: ImageFormat.WEBP, gif: ImageFormat.GIF };

/** Detects the format of a file by its first bytes. */
function formatOf(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (head.startsWith("\x89PNG")) return "png";
  if (head.startsWith("\xff\xd8")) return "jpeg";
  if (head.startsWith("GIF8")) return "gif";
  if (head.startsWith("RIFF") && head.endsWith("WEBP")) return "webp";
  return head.startsWith("BM") ? "bmp" : "tiff";
}

function side(name: string, value: number | null | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isInteger(value) || value < 1) throw new Error(`Expected positive integer for ${name} but received ${value} of type ${typeof value}`);
  return value;
}

/** Red, green, blue and opacity, 0–255 each. */
type Paint = readonly [number, number, number, number];

const COLOURS: Readonly<Record<string, Paint>> = { black: [0, 0, 0, 255], white: [255, 255, 255, 255], transparent: [0, 0, 0, 0] };

function paintOf(background: unknown): Paint {
  if (typeof background === "string") {
    const name = background.toLowerCase();
    const digits = /^#(?:([0-9a-f]{3,4})|([0-9a-f]{6}(?:[0-9a-f]{2})?))$/.exec(name);
    const full = digits && (digits[2] ?? (digits[1] as string).replace(/./g, "$&$&")).padEnd(8, "f");
    if (!full && !(name in COLOURS)) throw new Error(`Unable to parse color from string: ${background}`);
    return full ? ([...Buffer.from(full, "hex")] as unknown as Paint) : (COLOURS[name] as Paint);
  }
  if (typeof background !== "object" || background === null) throw new Error(`Expected object or string for background but received ${background} of type ${typeof background}`);
  const { r = 0, g = 0, b = 0, alpha = 1 } = background as Colour;
  const part = (value: number) => Math.min(255, Math.max(0, Math.round(value)));
  return [part(r), part(g), part(b), part(alpha * 255)];
}

/**
 * The fractions of the remaining space to the left of and above the part that `cover` keeps, or the image that
 * `contain` places.
 */
const POSITIONS: Readonly<Record<string, readonly [number, number]>> = {
  centre: [0.5, 0.5], center: [0.5, 0.5],
  top: [0.5, 0], "right top": [1, 0], right: [1, 0.5], "right bottom": [1, 1], bottom: [0.5, 1], "left bottom": [0, 1], left: [0, 0.5], "left top": [0, 0],
  north: [0.5, 0], northeast: [1, 0], east: [1, 0.5], southeast: [1, 1], south: [0.5, 1], southwest: [0, 1], west: [0, 0.5], northwest: [0, 0],
};

/** Returns the image at its new size, before it is cropped or extended. */
async function scaled(image: PhotonImage, { width, height, fit = "cover", kernel = "lanczos3", withoutEnlargement, withoutReduction }: ResizeOptions): Promise<PhotonImage> {
  const [across, down] = [width && width / image.width, height && height / image.height];
  if (across === undefined && down === undefined) return image;
  let scales: [number, number];
  if (fit === "fill") scales = [across ?? 1, down ?? 1];
  else if (across === undefined || down === undefined) scales = [across ?? (down as number), across ?? (down as number)];
  else scales = fit === "inside" || fit === "contain" ? [Math.min(across, down), Math.min(across, down)] : [Math.max(across, down), Math.max(across, down)];
  if (withoutEnlargement) scales = [Math.min(1, scales[0]), Math.min(1, scales[1])];
  if (withoutReduction) scales = [Math.max(1, scales[0]), Math.max(1, scales[1])];
  const [wide, high] = [Math.max(1, Math.round(image.width * scales[0])), Math.max(1, Math.round(image.height * scales[1]))];
  return wide === image.width && high === image.height ? image : image.resize(wide, high, KERNELS[kernel]);
}

/** Crops the image for `cover`, or extends it for `contain`. */
async function framed(image: PhotonImage, { width, height, fit = "cover", position = "centre", background = "black" }: ResizeOptions): Promise<PhotonImage> {
  const [left, top] = POSITIONS[position] as readonly [number, number];
  if (fit === "contain" && width !== undefined && height !== undefined) {
    const [wide, high] = [Math.max(width, image.width), Math.max(height, image.height)];
    if (wide === image.width && high === image.height) return image;
    return image.extend(Math.floor((wide - image.width) * left), Math.floor((high - image.height) * top), wide, high, paintOf(background));
  }
  const [wide, high] = [Math.min(image.width, width ?? image.width), Math.min(image.height, height ?? image.height)];
  if (fit !== "cover" || (wide === image.width && high === image.height)) return image;
  return image.crop(Math.round((image.width - wide) * left), Math.round((image.height - high) * top), wide, high);
}

/** The colour types of PNG that have an opacity. */
const WITH_OPACITY: readonly unknown[] = [4, 6];

/** Returns the image without opacity, blended with a colour. */
async function flattened(image: PhotonImage, [red, green, blue]: Paint): Promise<PhotonImage> {
  const png = Buffer.from(await image.encode(ImageFormat.PNG));
  if (!WITH_OPACITY.includes(png[25])) return image;
  // Extending converts an image with a colour profile to sRGB, to which the colour belongs.
  const pixels = pixelsOf(png.includes("iCCP") ? Buffer.from(await (await image.extend(0, 0, image.width, image.height, [0, 0, 0, 255])).encode(ImageFormat.PNG)) : png);
  for (let at = 0; at < pixels.length; at += 4) {
    const opacity = pixels[at + 3] as number;
    const blend = (sample: number, under: number) => Math.round((sample * opacity + under * (255 - opacity)) / 255);
    pixels.set([blend(pixels[at] as number, red), blend(pixels[at + 1] as number, green), blend(pixels[at + 2] as number, blue), 255], at);
  }
  return PhotonImage.parse(pngOf(pixels, image.width, image.height));
}

/** The EXIF orientations of reflections and rotations. */
const MIRRORED = { flop: 2, flip: 4 };
const TURNED = { 90: 6, 180: 3, 270: 8 };

async function extracted(image: PhotonImage, { left, top, width, height }: Region): Promise<PhotonImage> {
  if (left + width > image.width || top + height > image.height) throw new Error("extract_area: bad extract area");
  return image.crop(left, top, width, height);
}

/** Passes a result to a Node-style callback. */
function tell<T>(result: Promise<T>, callback: (error: Error | null, result: never) => void): void {
  result.then((value) => callback(null, value as never), (error: Error) => (callback as (error: Error) => void)(error));
}

/** An image and the operations on it. */
class Sharp {
  readonly #input: SharpInput;
  /**
   * The operations, executed in this order regardless of the order of the calls. Of each kind, the last call counts.
   */
  #before: Region | undefined;
  #resize: ResizeOptions | undefined;
  #after: Region | undefined;
  #flip = false;
  #flop = false;
  #angle: 0 | 90 | 180 | 270 = 0;
  /** True if reflections and the rotation are applied first. */
  #turnsFirst = false;
  #flatten: Paint | undefined;
  #format: string | undefined;
  #quality = 80;

  constructor(input: SharpInput) {
    if (typeof input !== "string" && !(input instanceof Uint8Array) && !(input instanceof ArrayBuffer)) throw new Error("Unsupported input: expected a path, a Buffer or an ArrayBuffer");
    this.#input = input;
  }

  async #bytes(): Promise<Uint8Array> {
    if (typeof this.#input === "string") {
      const path = this.#input;
      return readFile(path).catch((error: NodeJS.ErrnoException) => {
        throw error.code === "ENOENT" ? Object.assign(new Error(`Input file is missing: ${path}`, { cause: error }), { code: "ENOENT" }) : error;
      });
    }
    return this.#input instanceof Uint8Array ? this.#input : new Uint8Array(this.#input);
  }

  async #metadata(): Promise<Metadata> {
    const bytes = await this.#bytes();
    const { width, height } = await PhotonImage.parse(bytes);
    return { format: formatOf(bytes), width, height, ...(typeof this.#input !== "string" && { size: bytes.length }) };
  }

  /** Returns information about the original image. */
  metadata(callback: (error: Error | null, metadata: Metadata) => void): this;
  metadata(): Promise<Metadata>;
  metadata(callback?: (error: Error | null, metadata: never) => void): this | Promise<Metadata> {
    const result = this.#metadata();
    if (!callback) return result;
    tell(result, callback);
    return this;
  }

  /** Resizes the image. Of several calls, the last one counts; it inherits the options that it does not set. */
  resize(width?: number | ResizeOptions | null, height?: number | null, options: ResizeOptions = {}): this {
    const given = typeof width === "object" && width !== null ? { ...width } : { ...options, ...(width != null && { width }), ...(height != null && { height }) };
    for (const name of Object.keys(given) as (keyof ResizeOptions)[]) if (given[name] == null) delete given[name];
    if (given.gravity !== undefined) given.position = given.gravity;
    const { fit = "cover", kernel = "lanczos3", position = "centre", background } = given;
    if (!["cover", "contain", "fill", "inside", "outside"].includes(fit)) throw new Error(`Expected valid fit for fit but received ${fit} of type ${typeof fit}`);
    if (!(kernel in KERNELS)) throw new Error(`sharp-lite: kernel ${JSON.stringify(kernel)} is not supported; use ${Object.keys(KERNELS).join(", ")}`);
    if (!(position in POSITIONS)) throw new Error(`sharp-lite: position ${JSON.stringify(position)} is not supported; use ${Object.keys(POSITIONS).join(", ")}`);
    side("width", given.width);
    side("height", given.height);
    if (background !== undefined) paintOf(background);
    const { width: _width, height: _height, ...kept } = this.#resize ?? {};
    this.#resize = { ...kept, ...given };
    this.#turnsFirst ||= this.#angle !== 0;
    return this;
  }

  /** Crops the image: before resizing if it is called before `resize`, otherwise after it. */
  extract({ left, top, width, height }: Region): this {
    for (const [name, value] of Object.entries({ left, top, width, height })) {
      if (!Number.isInteger(value) || value < 0) throw new Error(`Expected integer between 0 and 100000000 for ${name} but received ${value} of type ${typeof value}`);
    }
    if (this.#resize || this.#before) {
      this.#after = { left, top, width, height };
    } else {
      this.#before = { left, top, width, height };
      this.#turnsFirst ||= this.#angle !== 0;
    }
    return this;
  }

  /**
   * Rotates the image clockwise by a multiple of 90°: before cropping or resizing if it is called before them,
   * otherwise after them. Without an angle, uses the EXIF orientation, which is always applied here anyway.
   */
  rotate(angle?: number): this {
    if (angle === undefined || angle === null) return this;
    if (typeof angle !== "number" || Number.isNaN(angle)) throw new Error(`Expected numeric for angle but received ${angle} of type ${typeof angle}`);
    if (angle % 90 !== 0) throw new Error(`sharp-lite: rotate(${angle}) is not supported; use a multiple of 90`);
    this.#angle = (((angle % 360) + 360) % 360) as 0 | 90 | 180 | 270;
    return this;
  }

  /** Mirrors the image top to bottom, directly before the rotation. */
  flip(flip = true): this {
    this.#flip = flip;
    return this;
  }

  /** Mirrors the image left to right, directly before the rotation. */
  flop(flop = true): this {
    this.#flop = flop;
    return this;
  }

  /**
   * Removes the opacity: blends the image with `background`, by default black. Happens after the resize, and before the
   * area that `contain` adds. `false` keeps the opacity.
   */
  flatten(options: boolean | { background?: string | Colour } = true): this {
    this.#flatten = options === false ? undefined : paintOf((options === true ? undefined : options.background) ?? "black");
    return this;
  }

  /** The same as `rotate()`. */
  autoOrient(): this {
    return this;
  }

  /** Sets the output format to PNG. */
  png(_options?: object): this {
    return this.toFormat("png");
  }

  /** Sets the output format to JPEG. */
  jpeg(options?: OutputOptions): this {
    return this.toFormat("jpeg", options);
  }

  /** Sets the output format to lossless WebP. */
  webp(_options?: object): this {
    return this.toFormat("webp");
  }

  /** Sets the output format to GIF. */
  gif(_options?: object): this {
    return this.toFormat("gif");
  }

  /** Sets the output format. */
  toFormat(format: string | { id: string }, { quality }: OutputOptions = {}): this {
    const name = typeof format === "string" ? format.toLowerCase() : format.id;
    if (!(name in FORMATS)) throw new Error(`sharp-lite: format ${JSON.stringify(name)} is not supported for output; use png, jpeg, webp or gif`);
    if (quality !== undefined && !(Number.isInteger(quality) && quality >= 1 && quality <= 100)) throw new Error(`Expected integer between 1 and 100 for quality but received ${quality} of type ${typeof quality}`);
    this.#format = name === "jpg" ? "jpeg" : name;
    this.#quality = quality ?? 80;
    return this;
  }

  /** Returns a copy with the same input and operations. */
  clone(): Sharp {
    const other = new Sharp(this.#input);
    other.#before = this.#before;
    other.#resize = this.#resize;
    other.#after = this.#after;
    other.#flip = this.#flip;
    other.#flop = this.#flop;
    other.#angle = this.#angle;
    other.#turnsFirst = this.#turnsFirst;
    other.#flatten = this.#flatten;
    other.#format = this.#format;
    other.#quality = this.#quality;
    return other;
  }

  async #turned(image: PhotonImage): Promise<PhotonImage> {
    const steps = [this.#flip && MIRRORED.flip, this.#flop && MIRRORED.flop, this.#angle !== 0 && TURNED[this.#angle]];
    for (const orientation of steps) if (orientation) image = await image.orient(orientation);
    return image;
  }

  async #run(named?: string): Promise<{ data: Buffer; info: OutputInfo }> {
    const bytes = await this.#bytes();
    let image = await PhotonImage.parse(bytes);
    if (this.#turnsFirst) image = await this.#turned(image);
    if (this.#before) image = await extracted(image, this.#before);
    if (this.#resize) image = await scaled(image, this.#resize);
    if (this.#flatten) image = await flattened(image, this.#flatten);
    if (!this.#turnsFirst) image = await this.#turned(image);
    if (this.#resize) image = await framed(image, this.#resize);
    if (this.#after) image = await extracted(image, this.#after);
    const read = formatOf(bytes);
    const format = this.#format ?? named ?? (read in FORMATS ? read : "png");
    const data = Buffer.from(await image.encode(FORMATS[format] as ImageFormat, this.#quality));
    return { data, info: { format, width: image.width, height: image.height, size: data.length } };
  }

  /** Returns the encoded image. */
  toBuffer(callback: (error: Error | null, data: Buffer, info: OutputInfo) => void): this;
  toBuffer(options: { resolveWithObject: true }): Promise<{ data: Buffer; info: OutputInfo }>;
  toBuffer(options?: { resolveWithObject?: false }): Promise<Buffer>;
  toBuffer(options: { resolveWithObject?: boolean } | ((error: Error | null, data: never, info: never) => void) = {}): this | Promise<Buffer | { data: Buffer; info: OutputInfo }> {
    const result = this.#run();
    if (typeof options === "function") {
      result.then(({ data, info }) => options(null, data as never, info as never), (error: Error) => (options as (error: Error) => void)(error));
      return this;
    }
    return options.resolveWithObject ? result : result.then(({ data }) => data);
  }

  async #write(path: string): Promise<OutputInfo> {
    const end = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase();
    const { data, info } = await this.#run(end !== undefined && end in FORMATS ? (end === "jpg" ? "jpeg" : end) : undefined);
    await writeFile(path, data);
    return info;
  }

  /** Writes a file in the requested format, otherwise that of its name, otherwise that of the input. */
  toFile(path: string, callback: (error: Error | null, info: OutputInfo) => void): this;
  toFile(path: string): Promise<OutputInfo>;
  toFile(path: string, callback?: (error: Error | null, info: never) => void): this | Promise<OutputInfo> {
    const result = this.#write(path);
    if (!callback) return result;
    tell(result, callback);
    return this;
  }
}

/**
 * Creates an object for an image. The options of sharp are accepted and ignored.
 *
 * @throws An error for an invalid input. A broken file rejects when it is read.
 */
function open(input: SharpInput, _options?: object | null): Sharp {
  return new Sharp(input);
}

/** Creates an object for an image. The names of fits and kernels are its properties. */
const sharp = Object.assign(open, {
  fit: { cover: "cover", contain: "contain", fill: "fill", inside: "inside", outside: "outside" } as const,
  kernel: { nearest: "nearest", linear: "linear", cubic: "cubic", lanczos3: "lanczos3" } as const,
  /** The class of the objects. */
  Sharp,
});

type Image = Sharp;

namespace sharp {
  /** An image and the operations on it. */
  export type Sharp = Image;
  /** An image: the path of a file, or its bytes. */
  export type SharpInput = types.SharpInput;
  /** The options of sharp, which are accepted and ignored. */
  export type SharpOptions = object;
  /** The options of `resize`. */
  export type ResizeOptions = types.ResizeOptions;
  /** A part of an image. */
  export type Region = types.Region;
  /** The options of a format. */
  export type OutputOptions = types.OutputOptions;
  /** The options of a JPEG. */
  export type JpegOptions = types.OutputOptions;
  /** The options of a PNG. */
  export type PngOptions = types.OutputOptions;
  /** The options of a WebP. */
  export type WebpOptions = types.OutputOptions;
  /** Information about an image. */
  export type Metadata = types.Metadata;
  /** Information about the written image. */
  export type OutputInfo = types.OutputInfo;
  /** A colour in its parts. */
  export type RGBA = types.Colour;
  /** The same as `RGBA`. */
  export type Colour = types.Colour;
  /** A colour as text, or in its parts. */
  export type Color = string | types.Colour;
}

// For programs whose compiler reads the default export of a CommonJS module. Not declared, as in sharp: it would hide the types above.
Object.assign(sharp, { default: sharp });

export = sharp;
