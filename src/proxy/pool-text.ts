import { readFileSync } from 'node:fs'
import { poolError } from './proxy-url.js'

/** One a line; empty lines and lines that begin with # are left out. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}

/** `shown`: how the place is called in the error. */
export function readText(path: string, shown: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw poolError(`${shown}: ${code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code ?? 'error'})`}`)
  }
}

/** The engine's own message quotes the text around the mistake, and that may be a password. */
export function parseJson(text: string, where: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch (error) {
    const at = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1]
    const line = at === undefined ? '' : ` (line ${text.slice(0, Number(at)).split('\n').length})`
    throw poolError(`${where}: it is not JSON${line}`)
  }
  throw poolError(`${where}: expected an object of pools`)
}
