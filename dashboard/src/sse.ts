export interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** Parses server-sent events from chunks of text that may be cut anywhere. */
export function makeEventReader(onEvent: (event: ServerEvent) => void): (piece: string) => void {
  let rest = ''
  let event = ''
  let data: string[] = []
  return (piece) => {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) onEvent({ event: event === '' ? 'message' : event, data: data.join('\n') })
        event = ''
        data = []
        continue
      }
      const colon = line.indexOf(':')
      if (colon === 0) continue
      const field = colon === -1 ? line : line.slice(0, colon)
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (field === 'event') event = value
      if (field === 'data') data.push(value)
    }
  }
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000

/** Delay before attempt number `tries` (from 1): doubled each time, with jitter. */
export function waitBefore(tries: number, chance: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1)) * (0.5 + chance / 2)
}
