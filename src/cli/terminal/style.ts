/** Colours for one stream; plain text when it is not a terminal or NO_COLOR is set. */
export interface Style {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
  /** The selected row, which also has a marker for terminals without colours. */
  inverse(text: string): string
}

const CODES = {
  ...{ bold: [1, 22], dim: [2, 22], inverse: [7, 27] },
  ...{ red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] },
} as const

export function styleFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Style {
  const colours = stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
  const paint = (name: keyof typeof CODES) => {
    const [on, off] = CODES[name]
    return (text: string) => (colours && text !== '' ? `\x1b[${on}m${text}\x1b[${off}m` : text)
  }
  return {
    bold: paint('bold'),
    dim: paint('dim'),
    red: paint('red'),
    green: paint('green'),
    yellow: paint('yellow'),
    cyan: paint('cyan'),
    inverse: paint('inverse'),
  }
}
