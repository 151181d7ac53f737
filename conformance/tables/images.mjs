// Decodes pictures from other projects' tests, writes them as PNG, reads them with the PNG reader in this file, and
// compares them with the results of libpng, libjpeg-turbo and libwebp.
//
// The expected pixels are those in the file. Sinew rotates a picture by its EXIF orientation, so this is undone first.
import { createHash } from "node:crypto";
import { inflateSync } from "node:zlib";

/** By how much the decoders of JPEG and of lossy WebP may differ, of 255. */
const MEAN_ERROR = 1.5;

/** Checks that at least 98 % of the cases with one right answer pass. */
export function gate(rows) {
  const judged = rows.filter((row) => row.tier !== "X");
  const passed = judged.filter((row) => row.pass).length;
  if (passed < judged.length * 0.98) throw new Error(`${passed} of ${judged.length} pass: 98 % are asked for`);
}

export async function run(table, natives) {
  const rows = [];
  for (const test of table.cases) rows.push({ id: test.name, tier: test.tier, ...(await judge(test, natives)) });
  return rows;
}

async function judge(test, natives) {
  const bytes = Buffer.from(test.b64, "base64");
  let image;
  try {
    image = await natives.PhotonImage.parse(bytes);
  } catch (error) {
    return { pass: !test.ok, detail: error.message };
  }
  if (!test.ok) return { pass: false, detail: "was decoded" };
  const png = readPng(Buffer.from(await image.encode(natives.ImageFormat.PNG, 100)));
  const { width, height, rgba } = turnedBack(png, orientation(bytes));
  if (width !== test.width || height !== test.height) return { pass: false, detail: `${width}×${height}, not ${test.width}×${test.height}` };
  if (!test.rgbaSha256) return { pass: true };
  if (createHash("sha256").update(rgba).digest("hex") === test.rgbaSha256) return { pass: true };
  const exact = test.format !== "JPEG" && test.format !== "WEBP";
  if (exact || !test.mean4x4) return { pass: false, detail: "other pixels" };
  const error = meanError(grid(rgba, width, height), test.mean4x4);
  return { pass: error <= MEAN_ERROR, detail: `mean error ${error.toFixed(2)}` };
}

const CHANNELS = { 0: 1, 2: 3, 4: 2, 6: 4 };

/** Reads a PNG of 8 bits that is not interlaced, which is what we write, as RGBA. */
function readPng(file) {
  let at = 8;
  let head;
  const data = [];
  while (at < file.length) {
    const length = file.readUInt32BE(at);
    const name = file.toString("latin1", at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + length);
    if (name === "IHDR") head = { width: body.readUInt32BE(0), height: body.readUInt32BE(4), depth: body[8], color: body[9], interlaced: body[12] };
    if (name === "IDAT") data.push(body);
    at += 12 + length;
  }
  const channels = CHANNELS[head.color];
  if (head.depth !== 8 || head.interlaced || !channels) throw new Error("not a PNG as we write it");
  const raw = inflateSync(Buffer.concat(data));
  const stride = head.width * channels;
  const rows = Buffer.alloc(stride * head.height);
  for (let y = 0; y < head.height; y++) unfilter(raw, rows, y, stride, channels);
  const rgba = Buffer.alloc(head.width * head.height * 4);
  for (let from = 0, to = 0; from < rows.length; from += channels, to += 4) {
    const gray = channels < 3;
    for (let part = 0; part < 3; part++) rgba[to + part] = rows[from + (gray ? 0 : part)];
    rgba[to + 3] = channels % 2 ? 255 : rows[from + channels - 1];
  }
  return { width: head.width, height: head.height, rgba };
}

function unfilter(raw, rows, y, stride, channels) {
  const type = raw[y * (stride + 1)];
  const from = y * (stride + 1) + 1;
  const to = y * stride;
  for (let x = 0; x < stride; x++) {
    const left = x >= channels ? rows[to + x - channels] : 0;
    const up = y ? rows[to + x - stride] : 0;
    const corner = x >= channels && y ? rows[to + x - stride - channels] : 0;
    const guess = left + up - corner;
    const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
    const paeth = a <= b && a <= c ? left : b <= c ? up : corner;
    rows[to + x] = raw[from + x] + [0, left, up, (left + up) >> 1, paeth][type];
  }
}

/** The EXIF orientation of a JPEG or PNG; 1 if it has none. */
function orientation(file) {
  let exif;
  if (file.readUInt16BE(0) === 0xffd8) {
    const name = file.indexOf("Exif\0\0", 0, "latin1");
    if (name > 0 && name < file.indexOf(Buffer.from([0xff, 0xda]))) exif = file.subarray(name + 6);
  } else if (file.toString("latin1", 1, 4) === "PNG") {
    const name = file.indexOf("eXIf", 0, "latin1");
    if (name > 0) exif = file.subarray(name + 4);
  }
  if (!exif) return 1;
  const big = exif.toString("latin1", 0, 2) === "MM";
  const short = (at) => (big ? exif.readUInt16BE(at) : exif.readUInt16LE(at));
  const start = big ? exif.readUInt32BE(4) : exif.readUInt32LE(4);
  for (let entry = 0; entry < short(start); entry++) {
    const at = start + 2 + entry * 12;
    if (short(at) === 0x112) return short(at + 8);
  }
  return 1;
}

/** Undoes the rotation: returns the picture as it is stored in the file. */
function turnedBack({ width, height, rgba }, turn) {
  if (turn < 2 || turn > 8) return { width, height, rgba };
  const swapped = turn >= 5;
  const [storedWidth, storedHeight] = swapped ? [height, width] : [width, height];
  const stored = Buffer.alloc(rgba.length);
  for (let y = 0; y < storedHeight; y++) {
    for (let x = 0; x < storedWidth; x++) {
      const [right, down] = [storedWidth - 1 - x, storedHeight - 1 - y];
      const [seenX, seenY] = [, , [right, y], [right, down], [x, down], [y, x], [down, x], [down, right], [y, right]][turn];
      rgba.copy(stored, (y * storedWidth + x) * 4, (seenY * width + seenX) * 4, (seenY * width + seenX) * 4 + 4);
    }
  }
  return { width: storedWidth, height: storedHeight, rgba: stored };
}

/** The mean colour of each field of a 4 × 4 grid, weighted by opacity, as 64 numbers. */
function grid(rgba, width, height) {
  const cells = [];
  const cover = (cell, side, at) => Math.max(0, Math.min((cell + 1) * side / 4, at + 1) - Math.max(cell * side / 4, at));
  for (let row = 0; row < 4; row++) {
    for (let column = 0; column < 4; column++) {
      const sum = [0, 0, 0, 0];
      let area = 0;
      for (let y = Math.floor(row * height / 4); y < Math.ceil((row + 1) * height / 4); y++) {
        for (let x = Math.floor(column * width / 4); x < Math.ceil((column + 1) * width / 4); x++) {
          const weight = cover(row, height, y) * cover(column, width, x);
          const at = (y * width + x) * 4;
          const alpha = rgba[at + 3] * weight;
          for (let part = 0; part < 3; part++) sum[part] += rgba[at + part] * alpha;
          sum[3] += alpha;
          area += weight;
        }
      }
      cells.push(...sum.slice(0, 3).map((part) => (sum[3] ? part / sum[3] : 0)), sum[3] / area);
    }
  }
  return cells;
}

function meanError(ours, theirs) {
  return ours.reduce((sum, value, at) => sum + Math.abs(value - theirs[at]), 0) / ours.length;
}
