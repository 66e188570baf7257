import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

/** The page as it was built: small, all of it here, and nothing in it that its own rules would forbid. */

const PAGE = fileURLToPath(new URL('../../dist/dashboard', import.meta.url))
const MOST_BYTES = 150_000
/** Names, not addresses that anybody asks: XML namespaces, and what an input field shows as an example. */
const NAMES = ['http://www.w3.org/', 'https://shop.example/']

const FILES = readdirSync(PAGE, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))

function textOf(file: string): string {
  return readFileSync(file, 'utf8')
}

describe('the built page', () => {
  it('is light', () => {
    const sizes = FILES.map((file) => gzipSync(readFileSync(file)).length)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    expect(total).toBeGreaterThan(10_000)
    expect(total).toBeLessThanOrEqual(MOST_BYTES)
  })

  it('asks nobody else for anything', () => {
    for (const file of FILES) {
      const addresses = textOf(file).match(/\b(?:https?|wss?):\/\/[\w.-]+[^\s"'`)]*|["'(]\/\/[\w-]+\.\w[^"'`)]*/g) ?? []
      expect(
        addresses.filter((address) => !NAMES.some((name) => address.startsWith(name))),
        file,
      ).toEqual([])
      expect(textOf(file), file).not.toMatch(/@import|sourceMappingURL/)
    }
  })

  it('has no inline script or style', () => {
    const html = textOf(join(PAGE, 'index.html'))
    for (const [script] of html.matchAll(/<script\b[^>]*>[\s\S]*?<\/script>/g)) {
      expect(script).toMatch(/^<script type="module" crossorigin src="\/assets\/[\w.-]+\.js"><\/script>$/)
    }
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i)
  })

  it('makes no code and no markup out of text', () => {
    for (const file of FILES.filter((name) => name.endsWith('.js'))) {
      expect(textOf(file), file).not.toMatch(
        /\beval\(|new Function\b|\.insertAdjacentHTML|document\.write|\.outerHTML\s*=/,
      )
      // Preact knows the attribute; nobody gives it one.
      expect(textOf(file), file).not.toMatch(/dangerouslySetInnerHTML\s*:\s*\{/)
    }
  })

  it('names its files by what is in them, so that they may be kept for ever', () => {
    const assets = FILES.filter((file) => file.includes('assets')).map((file) => file.replace(/^.*[\\/]/, ''))
    expect(assets.length).toBeGreaterThanOrEqual(2)
    for (const name of assets) expect(name).toMatch(/-[\w-]{8}\.(js|css)$/)
  })
})
