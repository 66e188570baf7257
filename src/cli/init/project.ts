import { BOOK_EXPECTED, BOOK_PAGE, GITIGNORE, SPIDER, TEST, TSCONFIG } from './templates.js'

/** A new project as texts: what is in it, and what is missing in one that exists. All of it is pure. */

export const SPIDER_FILE = 'books.ts'

export const SCRIPTS = {
  start: `shoal run ${SPIDER_FILE}`,
  test: 'node --import shoal/register --test *.test.ts',
  check: `shoal check ${SPIDER_FILE}`,
} as const

export interface Packages {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** Name → content, in the order in which they are created. */
export function projectFiles(
  folder: string,
  packages: Packages,
): readonly (readonly [name: string, content: string])[] {
  return [
    ['package.json', json({ name: packageName(folder), private: true, type: 'module', scripts: SCRIPTS, ...packages })],
    ['tsconfig.json', json(TSCONFIG)],
    [SPIDER_FILE, SPIDER],
    ['books.test.ts', TEST],
    ['fixtures/book.html', BOOK_PAGE],
    ['fixtures/book.html.json', json(BOOK_EXPECTED)],
    ['.gitignore', GITIGNORE],
  ]
}

/** The folder's name as npm allows it. */
export function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return name === '' || name === 'shoal' ? 'spiders' : name.slice(0, 100)
}

/** Lines of ours that a .gitignore does not have. */
export function missingIgnores(text: string): string[] {
  const lines = new Set(text.split(/\r?\n/).map((line) => line.trim().replace(/^\/|\/$/g, '')))
  return GITIGNORE.trim()
    .split('\n')
    .filter((line) => !lines.has(line.replace(/\/$/, '')))
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
