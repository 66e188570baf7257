import { createReadStream } from 'node:fs'
import { ShoalError } from '../errors.js'

/** A file as text, piece by piece; `-` is standard input. */
export async function* textPieces(path: string): AsyncGenerator<string> {
  const input = path === '-' ? process.stdin.setEncoding('utf8') : createReadStream(path, { encoding: 'utf8' })
  try {
    for await (const piece of input) yield String(piece)
  } catch (error) {
    const name = path === '-' ? 'standard input' : path
    throw new ShoalError('seeds_unreadable', `${name} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}
