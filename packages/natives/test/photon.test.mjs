// Tests the module that replaces @silvia-odwyer/photon-node: synchronous calls, pixels, and files with a rotation.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ImageFormat, PhotonImage as Picture, SamplingFilter as Filter } from "@sinew/natives";
import photon, { PhotonImage, SamplingFilter, fliph, flipv, resize } from "@sinew/natives/compat/photon-node";

const [WIDTH, HEIGHT] = [6, 4];
/** Pixels that differ from each other. */
const PIXELS = Uint8Array.from({ length: WIDTH * HEIGHT * 4 }, (_, at) => (at % 4 === 3 ? 255 : (at * 37) % 256));
const pixel = (pixels, x, y) => [...pixels.subarray((y * WIDTH + x) * 4, (y * WIDTH + x) * 4 + 4)];

test("pixels become an image, and come back from its PNG", () => {
  const image = new PhotonImage(PIXELS, WIDTH, HEIGHT);
  const back = PhotonImage.new_from_byteslice(image.get_bytes());
  assert.deepEqual([back.get_width(), back.get_height(), back.get_raw_pixels()], [WIDTH, HEIGHT, PIXELS]);
  assert.deepEqual(PhotonImage.new_from_base64(Buffer.from(image.get_bytes()).toString("base64")).get_raw_pixels(), PIXELS);
  const grey = new PhotonImage(PIXELS.map((value, at) => (at % 4 === 3 ? 128 : 7)), WIDTH, HEIGHT);
  assert.deepEqual(pixel(PhotonImage.new_from_byteslice(grey.get_bytes()).get_raw_pixels(), 5, 3), [7, 7, 7, 128]);
  assert.throws(() => new PhotonImage(PIXELS, WIDTH, HEIGHT + 1), /6 × 5 pixels need 120 bytes, not 96/);
});

test("an image is mirrored itself, and a resize makes another", async () => {
  const image = new PhotonImage(PIXELS, WIDTH, HEIGHT);
  fliph(image);
  assert.deepEqual(pixel(image.get_raw_pixels(), 0, 1), pixel(PIXELS, WIDTH - 1, 1));
  flipv(image);
  assert.deepEqual(pixel(image.get_raw_pixels(), 0, 0), pixel(PIXELS, WIDTH - 1, HEIGHT - 1));
  const small = resize(image, 3, 2, SamplingFilter.Lanczos3);
  const same = await (await (await Picture.parse(image.get_bytes())).resize(3, 2, Filter.Lanczos3)).encode(ImageFormat.PNG);
  assert.deepEqual([small.get_width(), small.get_height(), image.get_width(), Buffer.from(small.get_bytes())], [3, 2, WIDTH, Buffer.from(same)]);
});

test("images are written as JPEG and WebP", async () => {
  const image = new PhotonImage(PIXELS, WIDTH, HEIGHT);
  assert.deepEqual([...image.get_bytes_jpeg(80).subarray(0, 2)], [0xff, 0xd8]);
  assert.equal(Buffer.from(image.get_bytes_webp()).toString("latin1", 8, 12), "WEBP");
  assert.ok(image.get_bytes_jpeg(10).length < image.get_bytes_jpeg(95).length);
});

test("a rotation that a file announces is left to the caller", async () => {
  const jpeg = Buffer.from(new PhotonImage(PIXELS, WIDTH, HEIGHT).get_bytes_jpeg(90));
  // Orientation 6: a quarter turn.
  const exif = Buffer.from("ffe100224578696600004d4d002a00000008000101120003000000010006000000000000", "hex");
  const turned = Buffer.concat([jpeg.subarray(0, 2), exif, jpeg.subarray(2)]);
  const { width, height } = await Picture.parse(turned);
  const image = PhotonImage.new_from_byteslice(turned);
  assert.deepEqual([width, height, image.get_width(), image.get_height()], [HEIGHT, WIDTH, WIDTH, HEIGHT]);
});

test("a freed image and a file that is none are errors", () => {
  const image = new PhotonImage(PIXELS, WIDTH, HEIGHT);
  image.free();
  image.free();
  for (const call of [() => image.get_width(), () => image.get_bytes(), () => fliph(image), () => resize(image, 1, 1, 1)]) assert.throws(call, /photon-node: the image was freed/);
  for (const bytes of [new Uint8Array(), new Uint8Array([0xff, 0xd8, 0xff]), Buffer.from("RIFFxxxxWEBPEXIF"), Buffer.alloc(100)]) assert.throws(() => PhotonImage.new_from_byteslice(bytes), /photon-node: /);
});

test("require gives the same module, and its thread keeps no program alive", () => {
  assert.equal(createRequire(import.meta.url)("@sinew/natives/compat/photon-node").PhotonImage, photon.PhotonImage);
  const script = `const { PhotonImage } = require("@sinew/natives/compat/photon-node"); console.log(new PhotonImage(new Uint8Array(4), 1, 1).get_width());`;
  const { status, stdout } = spawnSync(process.execPath, ["--eval", script], { cwd: join(dirname(fileURLToPath(import.meta.url)), ".."), encoding: "utf8" });
  assert.deepEqual([status, stdout], [0, "1\n"]);
});
