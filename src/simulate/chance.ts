import type { Random } from '../clock.js'

/**
 * Random numbers with the same bytes on every machine: additions, multiplications, divisions and square roots are exact by IEEE 754, while `Math.exp`,
 * `Math.log` and `**` may differ in the last digit from one engine to the next. Tables are computed once; a draw reads one entry.
 */

/** Terms of the series below: the next one would be smaller than half a unit in the last place. */
const EXP_TERMS = 18
const LN_TERMS = 24
const LN_2 = Math.LN2

/** e^x. */
export function exp(x: number): number {
  const doublings = Math.round(x / LN_2)
  const rest = x - doublings * LN_2
  let term = 1
  let sum = 1
  for (let n = 1; n <= EXP_TERMS; n++) {
    term *= rest / n
    sum += term
  }
  return scaled(sum, doublings)
}

/** The natural logarithm of a positive number. */
export function ln(x: number): number {
  let mantissa = x
  let doublings = 0
  while (mantissa >= Math.SQRT2) {
    mantissa /= 2
    doublings++
  }
  while (mantissa < Math.SQRT1_2) {
    mantissa *= 2
    doublings--
  }
  const ratio = (mantissa - 1) / (mantissa + 1)
  let power = ratio
  let sum = 0
  for (let n = 0; n < LN_TERMS; n++) {
    sum += power / (2 * n + 1)
    power *= ratio * ratio
  }
  return 2 * sum + doublings * LN_2
}

function scaled(value: number, doublings: number): number {
  let result = value
  for (let n = 0; n < Math.abs(doublings); n++) result = doublings > 0 ? result * 2 : result / 2
  return result
}

/** Abramowitz and Stegun 26.2.23: the standard normal deviate that a share `p` (0 … 1) lies below, to 0.0005. */
function normalQuantile(p: number): number {
  const tail = Math.min(p, 1 - p)
  const t = Math.sqrt(-2 * ln(tail))
  const z =
    t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t)
  return p < 0.5 ? -z : z
}

/** 1.645 standard deviations: one value in twenty lies above. */
const Z_95 = 1.6448536269514722

/** More would not show: the error of a mean over the table is below 0.1 %. */
const QUANTILES = 4_096

/** A lognormal distribution of median 1, as a table of equally likely values. `p95`: one value in twenty is larger. */
export function lognormalTable(p95: number): Float64Array {
  const sigma = p95 <= 1 ? 0 : ln(p95) / Z_95
  return Float64Array.from({ length: QUANTILES }, (_, index) =>
    sigma === 0 ? 1 : exp(sigma * normalQuantile((index + 0.5) / QUANTILES)),
  )
}

export function drawFrom(table: Float64Array, random: Random): number {
  return table[Math.floor(random() * table.length)] ?? 1
}

/**
 * `total` things over `count` places in whole numbers: each gets one, and the rest in proportion to 1 ÷ rank^exponent (0: evenly). The sum is exact: what is
 * lost by rounding goes to the first places.
 */
export function spread(total: number, count: number, exponent: number): Float64Array {
  const weights = Float64Array.from({ length: count }, (_, rank) =>
    exponent === 0 ? 1 : exp(-exponent * ln(rank + 1)),
  )
  const sum = weights.reduce((all, weight) => all + weight, 0)
  const rest = total - count
  const shares = weights.map((weight) => 1 + Math.floor((rest * weight) / sum))
  let left = total - shares.reduce((all, share) => all + share, 0)
  for (let place = 0; left > 0; place = (place + 1) % count, left--) shares[place] = (shares[place] ?? 0) + 1
  return shares
}

/** One independent stream for each purpose: another latency must not change which hosts are down. */
export function streamSeed(seed: number, purpose: string): number {
  let hash = 2_166_136_261 ^ seed
  for (let at = 0; at < purpose.length; at++) hash = Math.imul(hash ^ purpose.charCodeAt(at), 16_777_619)
  return hash >>> 0
}
