/**
 * The part of `@silvia-odwyer/photon-node` that agents use. Its calls are synchronous: a worker thread does the work
 * while the caller waits.
 * @module
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { MessageChannel, type MessagePort, Worker, receiveMessageOnPort } from "node:worker_threads";
import { ImageFormat } from "../index.js";
import type { PhotonAnswer, PhotonCall } from "./photon-worker.js";

/** The filters of a resize. */
export const SamplingFilter = { Nearest: 1, Triangle: 2, CatmullRom: 3, Gaussian: 4, Lanczos3: 5 } as const;
/** The filters of a resize. */
export type SamplingFilter = (typeof SamplingFilter)[keyof typeof SamplingFilter];

/** The default quality of a JPEG. */
const QUALITY = 85;

/** The worker thread and its communication channel. */
interface Thread {
  port: MessagePort;
  flag: Int32Array;
}

let thread: Thread | undefined;

function started(): Thread {
  if (thread) return thread;
  const file = join(__dirname, "photon-worker.js");
  // The caller waits for the thread and cannot receive its errors.
  if (!existsSync(file)) throw new Error(`photon-node: ${file} is missing, because bundlers do not include it: exclude @sinew/natives from the bundle`);
  const { port1, port2 } = new MessageChannel();
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(file, { workerData: { port: port2, flag }, transferList: [port2] });
  worker.once("exit", () => (thread = undefined));
  // Neither of them keeps the process alive.
  worker.unref();
  port1.unref();
  return (thread = { port: port1, flag });
}

/** Calls a function of the worker thread and waits for its answer. */
function ask<T>(name: string, ...args: unknown[]): T {
  const { port, flag } = started();
  const before = Atomics.load(flag, 0);
  port.postMessage({ name, args } satisfies PhotonCall);
  Atomics.wait(flag, 0, before);
  const message = (receiveMessageOnPort(port) as { message: PhotonAnswer } | undefined)?.message;
  if (!message) {
    thread = undefined;
    throw new Error("photon-node: the worker thread ended during the call, and its images are lost");
  }
  if ("error" in message) throw new Error(`photon-node: ${message.error}`);
  return message.value as T;
}

interface Handle {
  id: number;
  width: number;
  height: number;
}

/** Frees images that are garbage collected. */
const forgotten = new FinalizationRegistry<number>((id) => ask("free", id));

/** A decoded image. EXIF orientation is not applied. */
export class PhotonImage {
  #handle: Handle | undefined;

  /** Creates an image from pixels of red, green, blue and opacity. */
  constructor(rawPixels: Uint8Array, width: number, height: number) {
    this.#hold(rawPixels instanceof Uint8Array ? ask<Handle>("fromPixels", rawPixels, width, height) : (rawPixels as Handle));
  }

  #hold(handle: Handle): void {
    this.#handle = handle;
    forgotten.register(this, handle.id, this);
  }

  /** @internal */
  get handle(): Handle {
    if (!this.#handle) throw new Error("photon-node: the image was freed");
    return this.#handle;
  }

  /**
   * Decodes a PNG, JPEG, GIF, WebP, BMP or TIFF.
   * @throws Error if the file cannot be decoded.
   */
  static new_from_byteslice(bytes: Uint8Array): PhotonImage {
    return held(ask("parse", bytes));
  }

  /** The same for a file as base64. */
  static new_from_base64(base64: string): PhotonImage {
    return PhotonImage.new_from_byteslice(Buffer.from(base64, "base64"));
  }

  get_width(): number {
    return this.handle.width;
  }

  get_height(): number {
    return this.handle.height;
  }

  /** The pixels: red, green, blue and opacity. */
  get_raw_pixels(): Uint8Array {
    return ask("pixels", this.handle.id);
  }

  /** The image as PNG. */
  get_bytes(): Uint8Array {
    return ask("encode", this.handle.id, ImageFormat.PNG);
  }

  /** The image as JPEG, with a quality of 0–100. Default: 85. */
  get_bytes_jpeg(quality: number = QUALITY): Uint8Array {
    return ask("encode", this.handle.id, ImageFormat.JPEG, quality);
  }

  /** The image as WebP. */
  get_bytes_webp(): Uint8Array {
    return ask("encode", this.handle.id, ImageFormat.WEBP);
  }

  /** Frees the image, which cannot be used afterwards. */
  free(): void {
    if (!this.#handle) return;
    ask("free", this.#handle.id);
    forgotten.unregister(this);
    this.#handle = undefined;
  }
}

/** Creates an image object for a handle from the worker thread. */
function held(handle: Handle): PhotonImage {
  return new PhotonImage(handle as unknown as Uint8Array, handle.width, handle.height);
}

/** Returns the image at another size. */
export function resize(image: PhotonImage, width: number, height: number, filter: SamplingFilter): PhotonImage {
  return held(ask("resize", image.handle.id, width, height, filter));
}

const MIRROR_LEFT_RIGHT = 2;
const MIRROR_TOP_BOTTOM = 4;

/** Mirrors the image itself, left and right. */
export function fliph(image: PhotonImage): void {
  ask("orient", image.handle.id, MIRROR_LEFT_RIGHT);
}

/** Mirrors the image itself, top and bottom. */
export function flipv(image: PhotonImage): void {
  ask("orient", image.handle.id, MIRROR_TOP_BOTTOM);
}

export default { PhotonImage, SamplingFilter, resize, fliph, flipv };
