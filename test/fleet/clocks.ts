/** From Debian's package `faketime`: the variant for programs with threads. */
export const FAKETIME = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/faketime/libfaketimeMT.so.1`

/** Settings for `env`. A clock that is only wrong runs as others do; one that is fast also measures too much. */
export function fakeClock(skew: string): string[] {
  const isFast = skew.includes('x')
  return [`LD_PRELOAD=${FAKETIME}`, `FAKETIME=${skew}`, `FAKETIME_DONT_FAKE_MONOTONIC=${isFast ? 0 : 1}`]
}
