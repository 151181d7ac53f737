/** An image: the path of a file, or its bytes. */
export type SharpInput = string | Uint8Array | ArrayBuffer;

/** A colour. */
export interface Colour {
  /** Red, 0–255. Default 0. */
  r?: number;
  /** Green, 0–255. Default 0. */
  g?: number;
  /** Blue, 0–255. Default 0. */
  b?: number;
  /** Opacity, 0–1. Default 1. */
  alpha?: number;
}

/** The options of `resize`. */
export interface ResizeOptions {
  /** The width in pixels. */
  width?: number;
  /** The height in pixels. */
  height?: number;
  /** How the aspect ratio is handled if both sides are set. Default `cover`. */
  fit?: "cover" | "contain" | "fill" | "inside" | "outside";
  /** The resampling filter. Default `lanczos3`. */
  kernel?: "nearest" | "linear" | "cubic" | "lanczos3";
  /**
   * The part that `cover` keeps, or the position of the image with `contain`: sides such as `right top`, or `north`.
   * Default `centre`.
   */
  position?: string;
  /** The same as `position`. Default `centre`. */
  gravity?: string;
  /**
   * The colour of the area that `contain` adds: `#rrggbb`, `#rrggbbaa`, their short forms, `black`, `white`,
   * `transparent`, or an object. Default black.
   */
  background?: string | Colour;
  /** Do not enlarge the image. Default false. */
  withoutEnlargement?: boolean;
  /** Do not reduce the image. Default false. */
  withoutReduction?: boolean;
}

/** A part of an image. */
export interface Region {
  /** The number of pixels to the left of it. */
  left: number;
  /** The number of rows above it. */
  top: number;
  /** Its width in pixels. */
  width: number;
  /** Its height in pixels. */
  height: number;
}

/** The options of a format. */
export interface OutputOptions {
  /** The quality of a JPEG, 1–100. Default 80. */
  quality?: number;
}

/** Information about an image. */
export interface Metadata {
  /** The format of the file: `png`, `jpeg`, `gif`, `webp`, `tiff` or `bmp`. */
  format: string;
  /** The width in pixels, after applying the orientation. */
  width: number;
  /** The height in pixels, after applying the orientation. */
  height: number;
  /** The size of the file in bytes; absent if it was passed as a path. */
  size?: number;
}

/** Information about the written image. */
export interface OutputInfo {
  /** The format. */
  format: string;
  /** The width in pixels. */
  width: number;
  /** The height in pixels. */
  height: number;
  /** The size in bytes. */
  size: number;
}
