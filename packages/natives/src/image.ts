/**
 * Decodes, resizes and encodes images, fits them into limits, and shows them in a terminal.
 * @module
 */
import { type CallOptions, called, underSignal } from "./call.js";
import { native } from "./loader.js";
import type { Picture } from "./native.js";
import { type Table, bytes as checkBytes, options as check, count, illegal, rangeError, text, typeError } from "./options.js";

/**
 * The formats that can be written.
 *
 * @example
 * ```js
 * import { ImageFormat, PhotonImage } from "@sinew/natives";
 * const image = await PhotonImage.parse(Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64"));
 * const jpeg = await image.encode(ImageFormat.JPEG, 70);
 * console.log(jpeg.length);
 * ```
 */
export enum ImageFormat {
  /** PNG, 8 bits per sample: keeps every pixel. */
  PNG = 0,
  /** JPEG; transparency is blended with white. */
  JPEG = 1,
  /** WebP, lossless. */
  WEBP = 2,
  /** GIF of one frame and at most 256 colours. */
  GIF = 3,
}

/**
 * The filters that compute new pixels from old ones.
 *
 * @example
 * ```js
 * import { PhotonImage, SamplingFilter } from "@sinew/natives";
 * const image = await PhotonImage.parse(Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64"));
 * (await image.resize(8, 4, SamplingFilter.Triangle)).width; // 8
 * ```
 */
export enum SamplingFilter {
  /** The nearest pixel: fast, hard edges. */
  Nearest = 1,
  /** Linear between neighbours. */
  Triangle = 2,
  /** Cubic, sharper than `Triangle`. */
  CatmullRom = 3,
  /** Soft. */
  Gaussian = 4,
  /** The sharpest; best for reducing the size. */
  Lanczos3 = 5,
}

/** The size of an image in a terminal. */
export interface TerminalImageOptions extends CallOptions {
  /** Width in columns (Kitty, iTerm2). Default: from its pixels. */
  columns?: number | undefined;
  /** Height in rows (Kitty, iTerm2); in Kitty the cursor then does not move. Default: from its pixels. */
  rows?: number | undefined;
  /** An id to replace or delete the image later (Kitty). Default: none. */
  id?: number | undefined;
}

/** The limits for `fitImage`. */
export interface FitImageOptions extends CallOptions {
  /** Maximum width, in pixels. Default: 2000. */
  maxWidth?: number | undefined;
  /** Maximum height, in pixels. Default: 2000. */
  maxHeight?: number | undefined;
  /** Maximum size of the result as base64 text, which is a third larger than the file. Default: 4,718,592 (4.5 MiB). */
  maxBytes?: number | undefined;
  /** The format of the result. Default: that of the input; PNG for BMP and TIFF; JPEG if PNG does not fit. */
  format?: ImageFormat | undefined;
}

/** The result of `fitImage`. */
export interface FittedImage {
  /** The file. */
  data: Uint8Array;
  /** Its MIME type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
  mimeType: string;
  /** Width, in pixels. */
  width: number;
  /** Height, in pixels. */
  height: number;
  /** True if the size in pixels differs from that of the input. */
  resized: boolean;
}

const CALL: Table = { timeoutMs: "u32", signal: "signal" };
const TERMINAL: Table = { columns: "u32", rows: "u32", id: "u32", ...CALL };
const FIT: Table = { maxWidth: "u32", maxHeight: "u32", maxBytes: "u32", format: "u32", ...CALL };

/** Checks that a format is a number; the core rejects unknown numbers. */
function formatOf(where: string, format: unknown): number {
  if (typeof format !== "number") throw typeError(where, "an ImageFormat", format);
  if (!(format in ImageFormat)) throw Object.assign(new RangeError(`Invalid image format: ${format}`), { code: "ERR_INVALID_ARG_VALUE" });
  return format;
}

/**
 * A decoded image. It is immutable: each method returns a new one. Its pixels count as external memory and are freed with the object.
 *
 * @example
 * ```js
 * import { ImageFormat, PhotonImage, SamplingFilter } from "@sinew/natives";
 * const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
 * const image = await PhotonImage.parse(gif);
 * const large = await image.resize(40, 30, SamplingFilter.Nearest);
 * console.log(large.width, large.height, (await large.encode(ImageFormat.PNG)).length);
 * ```
 */
export class PhotonImage {
  readonly #picture: Picture;

  private constructor(picture: Picture) {
    if (!(picture instanceof native.Picture)) throw illegal("PhotonImage", "PhotonImage.parse(bytes)");
    this.#picture = picture;
  }

  /**
   * Decodes a PNG, JPEG, GIF, WebP, BMP or TIFF; the format is detected from the first bytes. EXIF orientation is applied. Of several frames or
   * pages the first one is read.
   *
   * @param bytes The file; it is copied before the call returns.
   * @param options Time limit and signal.
   * @throws `TypeError` if `bytes` is not binary data; an `Error` for a file that is broken, cut off, of another format, or over the limit of
   * 512 MiB in memory, which is checked before memory is allocated.
   */
  static async parse(bytes: Uint8Array, options: CallOptions | null = {}): Promise<PhotonImage> {
    const file = checkBytes("PhotonImage.parse: bytes", bytes);
    const { signal, timeoutMs } = check("PhotonImage.parse", CALL, options ?? {});
    return new PhotonImage(await underSignal(signal, (abort) => native.parseImage(file, timeoutMs, abort)));
  }

  /** Width, in pixels. */
  get width(): number {
    return this.#picture.width;
  }

  /** Height, in pixels. */
  get height(): number {
    return this.#picture.height;
  }

  /**
   * Returns the image at another size. The aspect ratio is not kept.
   *
   * @param width Width in pixels, a whole number from 1.
   * @param height Height in pixels, the same.
   * @param filter Default: `SamplingFilter.Lanczos3`.
   * @param options Time limit and signal.
   * @throws `RangeError` for a size that is negative or not a whole number; an `Error` for 0 and for sizes over the limits.
   */
  async resize(
    width: number,
    height: number,
    filter: SamplingFilter = SamplingFilter.Lanczos3,
    options: CallOptions | null = {},
  ): Promise<PhotonImage> {
    const to = [count("resize: width", width), count("resize: height", height)] as const;
    const how = count("resize: filter", filter ?? SamplingFilter.Lanczos3);
    const { signal, timeoutMs } = check("resize", CALL, options ?? {});
    return new PhotonImage(await underSignal(signal, (abort) => this.#picture.resize(...to, how, timeoutMs, abort)));
  }

  /**
   * Returns a part of the image.
   *
   * @param left The number of pixels to the left of it.
   * @param top The number of rows above it.
   * @param width Its width in pixels.
   * @param height Its height in pixels.
   * @throws `RangeError` for a number that is negative or not whole; `ERR_INVALID_ARG_VALUE` for a part that is empty
   *   or not within the image.
   */
  async crop(left: number, top: number, width: number, height: number): Promise<PhotonImage> {
    const [x, y, across, down] = [count("crop: left", left), count("crop: top", top), count("crop: width", width), count("crop: height", height)];
    return new PhotonImage(await called(() => this.#picture.crop(x, y, across, down)));
  }

  /**
   * Puts the image on a canvas of one color.
   *
   * @param left The number of pixels to the left of the image.
   * @param top The number of rows above the image.
   * @param width The width of the canvas in pixels.
   * @param height The height of the canvas in pixels.
   * @param colour Red, green, blue and opacity, 0–255 each. Default: transparent.
   * @throws `RangeError` for a number that is negative or not whole, or a colour value above 255;
   *   `ERR_INVALID_ARG_VALUE` if the image is not within the canvas.
   */
  async extend(left: number, top: number, width: number, height: number, colour: readonly [number, number, number, number] = [0, 0, 0, 0]): Promise<PhotonImage> {
    const [x, y, across, down] = [count("extend: left", left), count("extend: top", top), count("extend: width", width), count("extend: height", height)];
    if (!Array.isArray(colour) || colour.length !== 4) throw typeError("extend: colour", "an array of four numbers", colour);
    const paint = colour.reduce((sum: number, part: unknown) => {
      const value = count("extend: colour", part);
      if (value > 255) throw rangeError("extend: colour", "0–255", value);
      return sum * 256 + value;
    }, 0);
    return new PhotonImage(await called(() => this.#picture.extend(x, y, across, down, paint)));
  }

  /**
   * Rotates and mirrors the image.
   *
   * @param orientation The number of an EXIF orientation: 2 mirrors left and right, 4 top and bottom; 6 rotates by 90°,
   *   3 by 180°, 8 by 270°, clockwise.
   * @throws `RangeError` for a number that is not whole, or not 1–8.
   */
  async orient(orientation: number): Promise<PhotonImage> {
    const number = count("orient: orientation", orientation);
    if (number < 1 || number > 8) throw rangeError("orient: orientation", "1–8", orientation);
    return new PhotonImage(await called(() => this.#picture.orient(number)));
  }

  /**
   * Encodes the image as a file.
   *
   * @param format The format.
   * @param quality 0–100, for JPEG only. Default: 85.
   * @param options Time limit and signal.
   * @throws `RangeError` for an unknown format (`Invalid image format: 9`) or a quality outside of 0–100.
   */
  async encode(format: ImageFormat, quality = 85, options: CallOptions | null = {}): Promise<Uint8Array> {
    const id = formatOf("encode: format", format);
    const grade = count("encode: quality", quality ?? 85);
    if (grade > 100) throw rangeError("encode: quality", "0–100", quality);
    const { signal, timeoutMs } = check("encode", CALL, options ?? {});
    return underSignal(signal, (abort) => this.#picture.encode(id, grade, timeoutMs, abort));
  }

  /**
   * Returns the escape sequences that show the image at the cursor of a terminal.
   *
   * @param protocol `"kitty"` (Kitty, Ghostty, WezTerm, Konsole), `"iterm2"` (iTerm2, WezTerm, VS Code) or `"sixel"`
   * (xterm, foot, Windows Terminal; up to 256 colours are kept exactly).
   * @param options The size in cells, time limit and signal.
   * @throws `TypeError` for another protocol.
   * @example
   * ```js
   * import { PhotonImage } from "@sinew/natives";
   * const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
   * const image = await PhotonImage.parse(gif);
   * process.stdout.write(await image.toTerminal("kitty", { columns: 20 }));
   * ```
   */
  async toTerminal(protocol: "kitty" | "iterm2" | "sixel", options: TerminalImageOptions | null = {}): Promise<string> {
    const known = ["kitty", "iterm2", "sixel"];
    if (!known.includes(text("toTerminal: protocol", protocol))) {
      throw typeError("toTerminal: protocol", known.map((word) => JSON.stringify(word)).join(" or "), protocol);
    }
    const { signal, ...rest } = check("toTerminal", TERMINAL, options ?? {});
    return underSignal(signal, (abort) => this.#picture.terminal(protocol, rest, abort));
  }
}

/**
 * Fits an image into `maxWidth × maxHeight` pixels and `maxBytes`, for example for a model. The aspect ratio is kept.
 *
 * A PNG, JPEG, GIF (also animated) or WebP that fits is returned unchanged, unless its EXIF data requires a rotation. Otherwise a JPEG stays
 * JPEG, and all others become PNG or, if that is too large, JPEG on white with quality 85, 70, 55, then 40. If even that is too large, the sides
 * shrink to three quarters and the search starts again.
 *
 * @param bytes The file: PNG, JPEG, GIF, WebP, BMP or TIFF. It is copied before the call returns.
 * @param options The limits, time limit and signal.
 * @throws Like `PhotonImage.parse`; an `Error` for a limit of 0, and if not even one pixel fits.
 * @example
 * ```js
 * import { fitImage } from "@sinew/natives";
 * const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
 * const { data, mimeType, resized } = await fitImage(gif, { maxWidth: 1568, maxHeight: 1568 });
 * console.log(mimeType, data.length, resized); // image/gif 43 false
 * ```
 */
export async function fitImage(bytes: Uint8Array, options: FitImageOptions | null = {}): Promise<FittedImage> {
  const file = checkBytes("fitImage: bytes", bytes);
  const given = options ?? {};
  const { signal, ...rest } = check("fitImage", FIT, given);
  const format = given.format === undefined || given.format === null ? {} : { format: formatOf("fitImage: format", given.format) };
  return underSignal(signal, (abort) => native.fitImage(file, { ...rest, ...format }, abort));
}
