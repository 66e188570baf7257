import { createInterface } from 'node:readline/promises'
import { ShoalError } from '../errors.js'
import { stderr } from './terminal/streams.js'

/** Asks before something that cannot be undone. A script cannot answer, so it passes --yes. */
export async function confirm(question: string, yes: boolean): Promise<boolean> {
  if (yes) return true
  if (!process.stdin.isTTY || !stderr.isTTY) {
    throw new ShoalError('usage', `${question} Not a terminal, so this cannot ask`, { hint: 'Pass --yes.' })
  }
  const terminal = createInterface({ input: process.stdin, output: stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
