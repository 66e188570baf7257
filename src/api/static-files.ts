import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import { gzipSync } from 'node:zlib'

export interface StaticFile {
  readonly type: string
  readonly bytes: Buffer
  /** Null: not worth it. */
  readonly gzip: Buffer | null
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/**
 * The files of the page, read once. A request is looked up by its path and never becomes a path on disk, so that no spelling of it leads
 * anywhere else.
 */
export function loadPage(folder: string): ReadonlyMap<string, StaticFile> {
  if (!existsSync(folder)) return new Map()
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const loaded = new Map<string, StaticFile>()
  for (const { name, parentPath } of files) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const file = join(parentPath, name)
    const bytes = readFileSync(file)
    const small = /^(?:text|image\/svg)/.test(type) ? gzipSync(bytes) : null
    const gzip = small !== null && small.length < bytes.length ? small : null
    loaded.set(`/${file.slice(folder.length).split(sep).filter(Boolean).join('/')}`, { type, bytes, gzip })
  }
  const index = loaded.get('/index.html')
  if (index !== undefined) loaded.set('/', index)
  return loaded
}
