// Written by `cargo xtask gen`.
export const EXPORTS: readonly string[] = ["nativeVersion", "Abort"];
