/**
 * The thread that decodes and encodes for `photon-node`, whose calls are synchronous.
 * @module
 */
import { type MessagePort, workerData } from "node:worker_threads";
import { ImageFormat, PhotonImage, type SamplingFilter } from "../index.js";
import { pixelsOf, pngOf, withoutOrientation } from "./photon-pixels.js";

/** A call, by the name of a function below. @internal */
export interface PhotonCall {
  name: string;
  args: unknown[];
}

/** The answer of a call. @internal */
export type PhotonAnswer = { value: unknown } | { error: string };

const { port, flag } = workerData as { port: MessagePort; flag: Int32Array };
const images = new Map<number, PhotonImage>();
let last = 0;

function add(image: PhotonImage): { id: number; width: number; height: number } {
  images.set(++last, image);
  return { id: last, width: image.width, height: image.height };
}

function get(id: number): PhotonImage {
  const image = images.get(id);
  if (!image) throw new Error("the image was freed");
  return image;
}

/** The functions that can be called. */
const CALLS: Record<string, (...args: any[]) => unknown> = {
  parse: async (bytes: Uint8Array) => add(await PhotonImage.parse(withoutOrientation(bytes))),
  fromPixels: async (pixels: Uint8Array, width: number, height: number) => add(await PhotonImage.parse(pngOf(pixels, width, height))),
  pixels: async (id: number) => pixelsOf(Buffer.from(await get(id).encode(ImageFormat.PNG))),
  encode: (id: number, format: ImageFormat, quality?: number) => get(id).encode(format, quality),
  resize: async (id: number, width: number, height: number, filter: SamplingFilter) => add(await get(id).resize(width, height, filter)),
  orient: async (id: number, orientation: number) => void images.set(id, await get(id).orient(orientation)),
  free: (id: number) => void images.delete(id),
};

async function answer({ name, args }: PhotonCall): Promise<PhotonAnswer> {
  try {
    return { value: await CALLS[name]?.(...args) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** Wakes the caller, which sleeps until the number changes. */
function wake(): void {
  Atomics.add(flag, 0, 1);
  Atomics.notify(flag, 0);
}

// A caller must not wait for a thread that has ended.
process.on("exit", wake);
port.on("message", async (call: PhotonCall) => {
  const result = await answer(call);
  port.postMessage(result);
  wake();
});
