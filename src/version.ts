import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
  homepage?: string
}

export const version: string = manifest.version
/** Where a site's owner can read what Shoal is; null while the package names no page. */
export const homepage: string | null = manifest.homepage ?? null
