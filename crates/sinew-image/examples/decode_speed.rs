//! Prints how long decoding takes: `cargo run --profile quick -p sinew-image --example decode_speed [ROUNDS]`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Instant;

use sinew_base::CancelToken;
use sinew_image::{Channels, FitOptions, ImageFormat, Picture, decode, fit_image};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(9), |count| count.parse())?;
    let never = CancelToken::never();
    let (width, height) = (4_000, 3_000);
    // Neither uniform nor noise, so that it compresses about as well as a photograph.
    let samples = (0..height).flat_map(|y| (0..width).flat_map(move |x| pixel(x, y))).collect();
    let picture = Picture::new(width, height, Channels::Rgb, samples)?;
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Webp, ImageFormat::Gif] {
        let file = picture.encode(format, 90, &never)?;
        let decoded = median(rounds, || decode(&file, &never).map(drop))?;
        let fitted = median(rounds, || fit_image(&file, &FitOptions::default(), &never).map(drop))?;
        println!("{format:?}: {} KiB, decode {decoded:.1} ms, fit {fitted:.1} ms", file.len() >> 10);
    }
    Ok(())
}

fn pixel(x: u32, y: u32) -> [u8; 3] {
    let hash = (x.wrapping_mul(0x9e37_79b9) ^ y.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35) >> 29;
    [x / 16 + hash, y / 12 + hash, (x + y) / 28 + hash].map(|part| part as u8)
}

fn median(rounds: usize, run: impl Fn() -> sinew_base::Result<()>) -> sinew_base::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
