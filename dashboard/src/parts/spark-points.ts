/** SVG points of the line, x from left to right, y from the bottom. */
export function sparkPoints(values: readonly number[], width: number, height: number): string {
  const top = Math.max(...values, 1e-9)
  const step = width / Math.max(1, values.length - 1)
  return values.map((value, at) => `${round(at * step)},${round(height - 1 - (value / top) * (height - 2))}`).join(' ')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
