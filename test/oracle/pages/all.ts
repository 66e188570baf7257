import { readdirSync, readFileSync } from 'node:fs'
import { type Document, document } from '../answers.js'
import { encodingPages } from './encodings.js'
import { linkPages } from './links.js'
import { structurePages } from './structure.js'

const FIXTURES = new URL('../../spider/html/fixtures/', import.meta.url)

/** Pages that are loaded over HTTP, with their bytes and headers. To add one, add a line to a table beside this file. */
export function allPages(): Document[] {
  const saved = readdirSync(FIXTURES).map((name) => document(`saved ${name}`, readFileSync(new URL(name, FIXTURES))))
  return [...saved, ...encodingPages(), ...linkPages(), ...structurePages()]
}
