import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Script } from './connection.js'

/** The path is the same from src and from dist, so that there is one copy of the files. */
export function loadScript(part: 'frontier' | 'notes' | 'proxy', name: string, shared: readonly string[]): Script {
  const read = (file: string) =>
    readFileSync(new URL(`../../src/${part}/redis/lua/${file}.lua`, import.meta.url), 'utf8')
  const source = [...shared, name].map(read).join('\n')
  return { name, source, sha: createHash('sha1').update(source).digest('hex') }
}
