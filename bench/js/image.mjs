// Resizes a photograph of 4000×3000 to a width of 2000 and writes it as JPEG, and writes pictures as PNG, against sharp and jimp.

/** An image that resembles a photograph: smooth areas, edges, a little noise. */
function photograph(width, height) {
  const rgb = Buffer.alloc(width * height * 3);
  let seed = 1;
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 3) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const noise = (seed >>> 28) - 8;
      const edge = (x >> 7) + (y >> 7) & 1 ? 24 : 0;
      rgb[at] = 110 + 90 * Math.sin(x / 310) + noise + edge;
      rgb[at + 1] = 120 + 80 * Math.sin(y / 270) + noise;
      rgb[at + 2] = 128 + 70 * Math.sin((x + y) / 450) + noise - edge;
    }
  }
  return rgb;
}

/** An image that resembles a screenshot of an editor: a few colours, rows of small marks, wide empty areas. */
function screenshot(width, height) {
  const rgb = Buffer.alloc(width * height * 3, 30);
  let seed = 1;
  for (let y = 8; y + 12 < height; y += 20) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const end = 40 + (seed >>> 8) % (width - 60);
    for (let x = 40; x < end; x += 2) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const colour = [[212, 212, 212], [86, 156, 214], [206, 145, 120]][(x >> 6) % 3];
      for (let row = 0; row < 12; row++) if ((seed >>> (row + 8)) & 1) rgb.set(colour, ((y + row) * width + x) * 3);
    }
  }
  return rgb;
}

export default async function (bench) {
  const { default: sharp } = await import("sharp");
  const { Jimp } = await import("jimp");
  const { PhotonImage, ImageFormat, SamplingFilter, fitImage } = bench.natives;
  const raw = { width: 4000, height: 3000, channels: 3 };
  const jpeg = await sharp(photograph(raw.width, raw.height), { raw }).jpeg({ quality: 90 }).toBuffer();
  bench.fact("the photograph", `${(jpeg.length / 1e6).toFixed(1)} MB`);

  const ours = async () => {
    const image = await PhotonImage.parse(jpeg);
    const small = await image.resize(2000, 1500, SamplingFilter.Lanczos3);
    return small.encode(ImageFormat.JPEG, 80);
  };
  await bench.compare("4000×3000 JPEG to 2000 wide, as JPEG", {
    sinew: ours,
    sharp: () => sharp(jpeg).resize(2000).jpeg({ quality: 80 }).toBuffer(),
  }, { targets: { sharp: 1.0 }, note: "sharp uses all cores and shrinks while it decodes" });
  await bench.compare("the same beside jimp", {
    sinew: ours,
    jimp: async () => {
      const image = await Jimp.read(jpeg);
      return image.resize({ w: 2000 }).getBuffer("image/jpeg", { quality: 80 });
    },
  }, { targets: { jimp: 0.1 }, rounds: 3 });
  await bench.compare("fitImage of it", {
    sinew: () => fitImage(jpeg),
    sharp: () => sharp(jpeg).rotate().resize({ width: 2000, height: 2000, fit: "inside", withoutEnlargement: true }).jpeg({ quality: 85 }).toBuffer(),
  }, { targets: { sharp: 1.0 }, note: "both shrink while they decode; sharp uses all cores" });
  for (const [name, pixels, width, height] of [["a photograph", photograph(2000, 1500), 2000, 1500], ["a screenshot", screenshot(1920, 1080), 1920, 1080]]) {
    const source = { raw: { width, height, channels: 3 } };
    const decoded = await PhotonImage.parse(await sharp(pixels, source).png().toBuffer());
    const write = { sinew: () => decoded.encode(ImageFormat.PNG), sharp: () => sharp(pixels, source).png().toBuffer() };
    const size = async (way) => `${((await way()).length / 1024).toFixed(0)} KiB`;
    bench.fact(`${name} as PNG`, `sinew ${await size(write.sinew)}, sharp ${await size(write.sharp)}`);
    await bench.compare(`${name} of ${width}×${height} as PNG`, write, { targets: { sharp: 1.0 }, note: "both start with the pixels" });
  }
}
