import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'

/** A terminal that keeps what is written, and on which keys are pressed. */
export interface FakeTerminal {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  /** All that was written. */
  written(): string
  /** The lines of the newest frame, without colours. */
  screen(): string[]
  press(keys: string): void
  resize(columns: number, rows: number): void
}

export function fakeTerminal(columns = 80, rows = 24): FakeTerminal {
  const chunks: string[] = []
  const stdout = Object.assign(new EventEmitter(), {
    ...{ columns, rows, isTTY: true },
    write(chunk: string, done?: () => void) {
      chunks.push(chunk)
      if (typeof done === 'function') done()
      return true
    },
  }) as unknown as NodeJS.WriteStream
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode() {},
    ref() {},
    unref() {},
  }) as unknown as NodeJS.ReadStream
  return {
    stdin,
    stdout,
    written: () => chunks.join(''),
    screen() {
      const frame = chunks.findLast((chunk) => chunk.includes('shoal top')) ?? ''
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor and what colours begins with one
      return frame.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '').split('\n')
    },
    press: (keys) => void (stdin as unknown as PassThrough).write(keys),
    resize(wide, high) {
      Object.assign(stdout, { columns: wide, rows: high })
      stdout.emit('resize')
    },
  }
}
