import assert from "node:assert/strict";
import { test } from "node:test";
import { ImageFormat, PhotonImage, SamplingFilter, fitImage } from "@sinew/natives";

/** One red pixel. */
const gif = Buffer.from("R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
const red = async (width, height) => (await PhotonImage.parse(gif)).resize(width, height, SamplingFilter.Nearest);

test("the numbers are those of the contract", () => {
  assert.deepEqual([ImageFormat.PNG, ImageFormat.JPEG, ImageFormat.WEBP, ImageFormat.GIF], [0, 1, 2, 3]);
  const { Nearest, Triangle, CatmullRom, Gaussian, Lanczos3 } = SamplingFilter;
  assert.deepEqual([Nearest, Triangle, CatmullRom, Gaussian, Lanczos3], [1, 2, 3, 4, 5]);
});

test("a picture is parsed, resized and encoded in every format", async () => {
  const image = await PhotonImage.parse(gif);
  assert.ok(image instanceof PhotonImage);
  assert.deepEqual([image.width, image.height], [1, 1]);
  const large = await image.resize(30, 20);
  assert.deepEqual([large.width, large.height, image.width], [30, 20, 1]);
  const heads = { PNG: "89504e47", JPEG: "ffd8ff", WEBP: "52494646", GIF: "474946" };
  for (const [name, head] of Object.entries(heads)) {
    const file = await large.encode(ImageFormat[name], 80);
    assert.ok(file instanceof Uint8Array);
    assert.ok(Buffer.from(file).toString("hex").startsWith(head), name);
    const back = await PhotonImage.parse(file);
    assert.deepEqual([back.width, back.height], [30, 20]);
  }
  const [good, bad] = await Promise.all([90, 5].map((quality) => large.encode(ImageFormat.JPEG, quality)));
  assert.ok(good.length > bad.length);
});

test("bytes are taken from views too, and may change afterwards", async () => {
  const padded = new Uint8Array(gif.length + 8);
  padded.set(gif, 4);
  const view = padded.subarray(4, 4 + gif.length);
  const call = PhotonImage.parse(view);
  padded.fill(0);
  assert.equal((await call).width, 1);
});

test("what cannot be is refused", async () => {
  const image = await PhotonImage.parse(gif);
  for (const [width, height] of [[0, 1], [1, 0], [-1, 1], [1.5, 1], [Number.NaN, 1], [1e9, 1], [2 ** 29, 1]]) {
    await assert.rejects(image.resize(width, height), Error, `${width}×${height}`);
  }
  await assert.rejects(image.resize("1", 1), { name: "TypeError", message: /resize: width/ });
  for (const format of [9, -1, 1.5]) await assert.rejects(image.encode(format), { message: `Invalid image format: ${format}` });
  await assert.rejects(image.encode(ImageFormat.JPEG, 101), { name: "RangeError" });
  await assert.rejects(image.resize(1, 1, 9), { message: "Invalid sampling filter: 9" });
  for (const orientation of [0, 9, 300, 1.5]) await assert.rejects(image.orient(orientation), { name: "RangeError", message: /^orient: orientation must be/ });
  await assert.rejects(image.extend(1, 0, 1, 1), { code: "ERR_INVALID_ARG_VALUE", message: /does not lie within 1×1 pixels/ });
  await assert.rejects(image.extend(0, 0, 2 ** 30, 1), { message: /1073741824×1/ });
  await assert.rejects(image.extend(0, 0, 2, 2, [0, 0, 0]), { name: "TypeError", message: /extend: colour/ });
  await assert.rejects(image.extend(0, 0, 2, 2, [0, 0, 0, 256]), { name: "RangeError", message: /extend: colour must be 0–255/ });
  const turned = await (await image.extend(0, 0, 3, 2)).orient(6);
  assert.deepEqual([turned.width, turned.height], [2, 3]);
  await assert.rejects(PhotonImage.parse("gif"), { name: "TypeError", message: /PhotonImage.parse: bytes/ });
  await assert.rejects(PhotonImage.parse(new Uint8Array()), { code: "ERR_INVALID_DATA", message: "image: no data" });
  await assert.rejects(PhotonImage.parse(gif.subarray(0, 30)), { code: "ERR_INVALID_DATA", message: /failed to decode GIF/ });
  await assert.rejects(image.toTerminal("braille"), { name: "TypeError" });
});

test("a call can be ended", async () => {
  const signal = AbortSignal.abort();
  const image = await red(100, 100);
  for (const call of [PhotonImage.parse(gif, { signal }), image.resize(5, 5, 1, { signal }), image.encode(0, 1, { signal }), fitImage(gif, { signal })]) {
    await assert.rejects(call, { name: "AbortError", code: "ABORT_ERR" });
  }
  await assert.rejects(image.encode(0, 1, { timeoutMs: 0 }), { name: "TimeoutError", code: "ERR_TIMEOUT" });
});

test("a picture is made to fit", async () => {
  const same = await fitImage(gif);
  assert.deepEqual({ ...same, data: Buffer.from(same.data) }, { data: gif, mimeType: "image/gif", width: 1, height: 1, resized: false });
  const file = await (await red(400, 300)).encode(ImageFormat.PNG);
  const { data, ...rest } = await fitImage(file, { maxWidth: 200, maxHeight: 200 });
  assert.deepEqual(rest, { mimeType: "image/png", width: 200, height: 150, resized: true });
  assert.equal((await PhotonImage.parse(data)).width, 200);
  assert.equal((await fitImage(file, { format: ImageFormat.WEBP })).mimeType, "image/webp");
  await assert.rejects(fitImage(file, { format: 9 }), { message: "Invalid image format: 9" });
  await assert.rejects(fitImage(file, { maxBytes: 0 }), /no limit may be 0/);
});

test("a terminal gets its codes", async () => {
  const image = await red(4, 4);
  assert.match(await image.toTerminal("kitty", { columns: 2, rows: 1, id: 7 }), /^\x1b_Ga=T,f=100,q=2,c=2,r=1,i=7,C=1,m=0;[A-Za-z0-9+/]+=*\x1b\\$/);
  assert.match(await image.toTerminal("iterm2"), /^\x1b\]1337;File=inline=1;size=\d+;width=auto;/);
  assert.equal(await image.toTerminal("sixel"), '\x1bP0;1q"1;1;4;4#0;2;100;0;0#0!4N-\x1b\\');
});
