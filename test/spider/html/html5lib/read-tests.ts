import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Debian's golang-golang-x-net-dev carries the tree construction tests of html5lib; scripts/set-up-servers.sh installs it. */
const FOLDER = process.env.SHOAL_HTML5LIB_TESTS ?? '/usr/share/gocode/src/golang.org/x/net/html/testdata/webkit'

export interface TreeTest {
  /** `tests1.dat:12` */
  readonly name: string
  readonly html: string
  readonly expected: string
  /** innerHTML of an element instead of a document. */
  readonly fragment: boolean
  readonly scripting: boolean
}

export function readTreeTests(): TreeTest[] {
  let files: string[]
  try {
    files = readdirSync(FOLDER).filter((file) => file.endsWith('.dat'))
  } catch (cause) {
    const hint =
      'run sh scripts/set-up-servers.sh, or set SHOAL_HTML5LIB_TESTS to a folder with tree construction tests'
    throw new Error(`the tests of html5lib are not in ${FOLDER}: ${hint}`, { cause })
  }
  return files.flatMap((file) => parseTests(file, readFileSync(join(FOLDER, file), 'utf8')))
}

function parseTests(file: string, text: string): TreeTest[] {
  return `\n${text}`
    .split('\n#data\n')
    .slice(1)
    .map((test, index) => {
      const parts = new Map<string, string[]>([['data', []]])
      let part = parts.get('data') ?? []
      for (const line of test.split('\n')) {
        if (/^#(?:errors|new-errors|document|document-fragment|script-on|script-off)$/.test(line)) {
          part = []
          parts.set(line.slice(1), part)
        } else part.push(line)
      }
      return {
        name: `${file}:${index}`,
        html: (parts.get('data') ?? []).join('\n'),
        expected: (parts.get('document') ?? []).join('\n').trimEnd(),
        fragment: parts.has('document-fragment'),
        scripting: parts.has('script-on'),
      }
    })
}
