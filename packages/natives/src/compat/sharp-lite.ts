/**
 * The part of `sharp` that agents use: read, resize, cut, write. What it has not is no method here, or an error that says so.
 * @module
 */
import { readFile, writeFile } from "node:fs/promises";
import { ImageFormat, PhotonImage, SamplingFilter } from "../index.js";

/** A picture: a file by its path, or its bytes. */
export type SharpInput = string | Uint8Array | ArrayBuffer;

/** How a picture gets another size. */
export interface ResizeOptions {
  /** Pixels in a row. */
  width?: number;
  /** Rows. */
  height?: number;
  /** The fate of the shape where both sides are given; `contain` is not supported. Default `cover`. */
  fit?: "cover" | "fill" | "inside" | "outside";
  /** How pixels are made of others. Default `lanczos3`. */
  kernel?: "nearest" | "linear" | "cubic" | "lanczos3";
  /** Leave a smaller picture as it is. Default false. */
  withoutEnlargement?: boolean;
  /** Leave a larger picture as it is. Default false. */
  withoutReduction?: boolean;
}

/** A part of a picture. */
export interface Region {
  /** Pixels left of it. */
  left: number;
  /** Rows above it. */
  top: number;
  /** Its pixels in a row. */
  width: number;
  /** Its rows. */
  height: number;
}

/** The options of a format. */
export interface OutputOptions {
  /** Of JPEG: 1–100. Default 80. */
  quality?: number;
}

/** Facts of a picture. */
export interface Metadata {
  /** The format of the file: `png`, `jpeg`, `gif`, `webp`, `tiff` or `bmp`. */
  format: string;
  /** Pixels in a row, after its orientation. */
  width: number;
  /** Rows, after its orientation. */
  height: number;
  /** The bytes of the file; absent where it was named by a path. */
  size?: number;
}

/** Facts of what was written. */
export interface OutputInfo {
  /** The format. */
  format: string;
  /** Pixels in a row. */
  width: number;
  /** Rows. */
  height: number;
  /** Bytes. */
  size: number;
}

const KERNELS = { nearest: SamplingFilter.Nearest, linear: SamplingFilter.Triangle, cubic: SamplingFilter.CatmullRom, lanczos3: SamplingFilter.Lanczos3 };
const FORMATS: Record<string, ImageFormat> = { png: ImageFormat.PNG, jpeg: ImageFormat.JPEG, jpg: ImageFormat.JPEG, webp: ImageFormat.WEBP, gif: ImageFormat.GIF };

/** The format of a file, by its first bytes. */
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

async function resized(image: PhotonImage, { width, height, fit = "cover", kernel = "lanczos3", withoutEnlargement, withoutReduction }: ResizeOptions): Promise<PhotonImage> {
  const [across, down] = [width && width / image.width, height && height / image.height];
  if (across === undefined && down === undefined) return image;
  const one = across ?? (down as number);
  const both = across !== undefined && down !== undefined;
  const scale = !both ? one : fit === "inside" ? Math.min(across, down) : Math.max(across, down);
  const exact = both && fit === "fill";
  if (withoutEnlargement && (exact ? Math.max(across, down) : scale) > 1) return image;
  if (withoutReduction && (exact ? Math.min(across, down) : scale) < 1) return image;
  const to = (length: number, asked: number | undefined) => Math.max(1, exact || (asked !== undefined && !both) ? (asked as number) : Math.round(length * scale));
  let [wide, high] = [to(image.width, width), to(image.height, height)];
  // Rounding must not leave a row too few.
  if (both && fit === "cover") [wide, high] = [Math.max(wide, width as number), Math.max(high, height as number)];
  const large = await image.resize(wide, high, KERNELS[kernel]);
  if (!both || fit !== "cover") return large;
  return large.crop(Math.floor((wide - (width as number)) / 2), Math.floor((high - (height as number)) / 2), width as number, height as number);
}

/** A picture and what is to be done to it. */
export class Sharp {
  readonly #input: SharpInput;
  readonly #steps: ((image: PhotonImage) => Promise<PhotonImage>)[] = [];
  #format: string | undefined;
  #quality = 80;

  constructor(input: SharpInput) {
    if (typeof input !== "string" && !(input instanceof Uint8Array) && !(input instanceof ArrayBuffer)) throw new Error("Unsupported input: a path, a Buffer or an ArrayBuffer is read");
    this.#input = input;
  }

  async #bytes(): Promise<Uint8Array> {
    if (typeof this.#input === "string") return readFile(this.#input);
    return this.#input instanceof Uint8Array ? this.#input : new Uint8Array(this.#input);
  }

  /** Facts of the picture as it was read. */
  async metadata(): Promise<Metadata> {
    const bytes = await this.#bytes();
    const { width, height } = await PhotonImage.parse(bytes);
    return { format: formatOf(bytes), width, height, ...(typeof this.#input !== "string" && { size: bytes.length }) };
  }

  /** Gives it another size. */
  resize(width?: number | ResizeOptions | null, height?: number | null, options: ResizeOptions = {}): this {
    const given = typeof width === "object" && width !== null ? width : { ...options, ...(width != null && { width }), ...(height != null && { height }) };
    const { fit = "cover", kernel = "lanczos3" } = given;
    if (!["cover", "fill", "inside", "outside"].includes(fit)) throw new Error(`sharp-lite: fit ${JSON.stringify(fit)} is not supported; use cover, fill, inside or outside`);
    if (!(kernel in KERNELS)) throw new Error(`sharp-lite: kernel ${JSON.stringify(kernel)} is not supported; use ${Object.keys(KERNELS).join(", ")}`);
    side("width", given.width);
    side("height", given.height);
    this.#steps.push((image) => resized(image, given));
    return this;
  }

  /** Cuts a part out. */
  extract({ left, top, width, height }: Region): this {
    this.#steps.push((image) => image.crop(left, top, width, height));
    return this;
  }

  /** Turns it as its EXIF data say, which every picture here is; an angle is not supported. */
  rotate(angle?: number): this {
    if (angle !== undefined && angle !== 0) throw new Error("sharp-lite: only rotate() without an angle is supported");
    return this;
  }

  /** The same as `rotate()`. */
  autoOrient(): this {
    return this;
  }

  /** Writes PNG. */
  png(_options?: object): this {
    return this.toFormat("png");
  }

  /** Writes JPEG. */
  jpeg(options?: OutputOptions): this {
    return this.toFormat("jpeg", options);
  }

  /** Writes WebP, without loss. */
  webp(_options?: object): this {
    return this.toFormat("webp");
  }

  /** Writes GIF. */
  gif(_options?: object): this {
    return this.toFormat("gif");
  }

  /** Writes a format. */
  toFormat(format: string | { id: string }, { quality }: OutputOptions = {}): this {
    const name = typeof format === "string" ? format.toLowerCase() : format.id;
    if (!(name in FORMATS)) throw new Error(`sharp-lite: format ${JSON.stringify(name)} is not written; use png, jpeg, webp or gif`);
    if (quality !== undefined && !(Number.isInteger(quality) && quality >= 1 && quality <= 100)) throw new Error(`Expected integer between 1 and 100 for quality but received ${quality} of type ${typeof quality}`);
    this.#format = name === "jpg" ? "jpeg" : name;
    this.#quality = quality ?? 80;
    return this;
  }

  /** Another one with the same input and steps. */
  clone(): Sharp {
    const other = new Sharp(this.#input);
    other.#steps.push(...this.#steps);
    other.#format = this.#format;
    other.#quality = this.#quality;
    return other;
  }

  async #run(named?: string): Promise<{ data: Buffer; info: OutputInfo }> {
    const bytes = await this.#bytes();
    let image = await PhotonImage.parse(bytes);
    for (const step of this.#steps) image = await step(image);
    const read = formatOf(bytes);
    const format = this.#format ?? named ?? (read in FORMATS ? read : "png");
    const data = Buffer.from(await image.encode(FORMATS[format] as ImageFormat, this.#quality));
    return { data, info: { format, width: image.width, height: image.height, size: data.length } };
  }

  /** The written picture. */
  async toBuffer(options: { resolveWithObject: true }): Promise<{ data: Buffer; info: OutputInfo }>;
  async toBuffer(options?: { resolveWithObject?: false }): Promise<Buffer>;
  async toBuffer(options: { resolveWithObject?: boolean } = {}): Promise<Buffer | { data: Buffer; info: OutputInfo }> {
    const result = await this.#run();
    return options.resolveWithObject ? result : result.data;
  }

  /** Writes a file, in the format that was asked for, else that of its name, else that of the input. */
  async toFile(path: string): Promise<OutputInfo> {
    const end = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase();
    const { data, info } = await this.#run(end !== undefined && end in FORMATS ? (end === "jpg" ? "jpeg" : end) : undefined);
    await writeFile(path, data);
    return info;
  }
}

/**
 * A picture to work on.
 *
 * @throws For an input that is none. A file that is broken rejects where it is read.
 */
export default function sharp(input: SharpInput): Sharp {
  return new Sharp(input);
}
