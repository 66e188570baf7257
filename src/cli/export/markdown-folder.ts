import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { StoredRecord } from '../../store/record-store.js'
import type { Json } from '../../url/link.js'

const LONGEST_SEGMENT = 80
const MOST_SEGMENTS = 12
const HASH_CHARS = 8

/** Writes one Markdown file per record, with the other fields as front matter; returns how many. Files of earlier crawls are replaced or left alone. */
export async function writeMarkdownFolder(records: AsyncIterable<StoredRecord>, folder: string): Promise<number> {
  const taken = new Set<string>()
  let written = 0
  for await (const { url, data } of records) {
    if (!isObject(data) || typeof data.markdown !== 'string') continue
    const file = join(folder, freeName(url, taken))
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, withFrontMatter(data, data.markdown))
    written++
  }
  return written
}

/** Two URLs may have the same name, also because some file systems ignore case. */
function freeName(url: string, taken: Set<string>): string {
  const name = markdownFileName(url)
  const free = taken.has(name.toLowerCase()) ? name.replace(/\.md$/, `-${hashOf(url)}.md`) : name
  taken.add(free.toLowerCase())
  return free
}

/**
 * `https://docs.example/guide/intro.html` → `docs.example/guide/intro.md`. Only letters, digits, dots, dashes and underscores remain, so that no URL
 * leads out of the folder; what they replace makes no two pages the same, because a hash of the URL is added.
 */
export function markdownFileName(url: string): string {
  const { host, pathname, search } = new URL(url)
  const segments = pathname.split('/').filter((segment) => segment !== '')
  const last = pathname.endsWith('/')
    ? 'index'
    : (segments.pop() ?? 'index').replace(/\.(?:html?|xhtml|php|aspx?)$/i, '')
  // A folder called x.md would be in the way of the file.
  const folders = [host, ...segments].map((segment) => safe(segment).replace(/\.md$/i, '-md'))
  const exact =
    search === '' && folders.length <= MOST_SEGMENTS && [last, ...segments].every((one) => safe(one) === one)
  return `${[...folders.slice(0, MOST_SEGMENTS), safe(last)].join('/')}${exact ? '' : `-${hashOf(url)}`}.md`
}

function safe(segment: string): string {
  const clean = segment.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^\.+/, '')
  return clean.slice(0, LONGEST_SEGMENT) || '-'
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS)
}

/** YAML; strings as JSON, which is YAML too. */
function withFrontMatter(data: Readonly<Record<string, Json>>, markdown: string): string {
  const lines = Object.entries(data).flatMap(([name, value]) =>
    name === 'markdown' || value === null || value === '' ? [] : [`${name}: ${JSON.stringify(value)}`],
  )
  return `---\n${lines.join('\n')}\n---\n\n${markdown}`
}

function isObject(data: Json): data is Readonly<Record<string, Json>> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}
