import { readFileSync } from 'node:fs'

/** Rows of cells as aligned text; the first column to the left, the others to the right. */
export function table(head, rows) {
  const all = [head, ...rows].map((row) => row.map(String))
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column].length)))
  const line = (row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  ')
  return [line(all[0]), widths.map((width) => '─'.repeat(width)).join('  '), ...all.slice(1).map(line)].join('\n')
}

/** The targets, with the measured figures. Returns whether all of them are met. */
export function printBars(bars) {
  for (const { text, value, holds } of bars) console.log(`${holds ? 'pass' : 'MISS'}  ${text}: ${value}`)
  return bars.every((bar) => bar.holds)
}

export function versions(...packages) {
  const read = (url) => JSON.parse(readFileSync(url, 'utf8')).version
  const peers = packages.map(
    (name) => `${name} ${read(new URL(`./node_modules/${name}/package.json`, import.meta.url))}`,
  )
  return [`node ${process.versions.node}`, `shoal ${read(new URL('../package.json', import.meta.url))}`, ...peers].join(
    ', ',
  )
}

export function round(number, digits = 2) {
  return Number(number.toFixed(digits))
}
