import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One case of `urltestdata.json` of web-platform-tests. */
export interface UrlCase {
  readonly input: string
  readonly base: string | null
  /** Null: it is not a URL. */
  readonly href: string | null
}

/** Debian and Ubuntu package the tests with the Rust crate url: librust-url-dev. Elsewhere SHOAL_URL_TESTS names the file. */
const CRATES = '/usr/share/cargo/registry'

function fileWithCases(): string {
  const named = process.env.SHOAL_URL_TESTS
  if (named !== undefined) return named
  const crate = existsSync(CRATES) ? readdirSync(CRATES).find((name) => /^url-\d/.test(name)) : undefined
  if (crate === undefined)
    throw new Error('The URL tests of web-platform-tests are missing. Install them: sh scripts/set-up-servers.sh')
  return join(CRATES, crate, 'tests/urltestdata.json')
}

export function urlCases(): UrlCase[] {
  const lines = JSON.parse(readFileSync(fileWithCases(), 'utf8')) as (
    | string
    | { readonly input: string; readonly base?: string | null; readonly href?: string; readonly failure?: boolean }
  )[]
  // Strings are comments.
  return lines.flatMap((line) =>
    typeof line === 'string'
      ? []
      : [{ input: line.input, base: line.base ?? null, href: line.failure === true ? null : (line.href ?? null) }],
  )
}
