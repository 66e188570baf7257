import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'

/** Thirteen manuals by many tools: Sphinx, DocBook, Doxygen, AsciiDoc, hand-written; in 12 languages and 5 encodings, from 1 KB to 5.7 MB a page. */
const PACKAGES = [
  'apache2-doc',
  'debian-faq',
  'debian-policy',
  'debian-reference-ja',
  'developers-reference',
  'git-doc',
  'libboost1.74-doc',
  'libstdc++-12-doc',
  'nodejs-doc',
  'postgresql-doc-15',
  'python-sqlalchemy-doc',
  'python3.11-doc',
  'sqlite3-doc',
]

/** The folder with the unpacked packages; they are downloaded once. `BENCH_DOCS` names a folder with other pages. */
export function docsFolder() {
  if (process.env.BENCH_DOCS) return process.env.SHOAL_BENCH_DOCS
  const folder = join(tmpdir(), 'shoal-bench-docs')
  if (existsSync(folder)) return folder
  console.error(`bench: downloading ${PACKAGES.length} packages of documentation from Debian (60 MB, first run only) …`)
  const work = mkdtempSync(join(tmpdir(), 'shoal-bench-debs-'))
  try {
    execFileSync('apt-get', ['download', '-q', ...PACKAGES], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] })
    const unpacked = join(work, 'docs')
    mkdirSync(unpacked)
    for (const file of readdirSync(work).filter((name) => name.endsWith('.deb')))
      execFileSync('dpkg', ['-x', file, unpacked], { cwd: work })
    renameSync(unpacked, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return folder
}

/** `count` pages: of each manual the same number if it has them, spread over it. */
export function choosePages(folder, count) {
  const manuals = new Map()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.html?$/.test(entry.name)) continue
    const path = relative(folder, join(entry.parentPath, entry.name))
    const manual = path.split(sep).slice(0, 4).join(sep)
    if (!manuals.has(manual)) manuals.set(manual, [])
    manuals.get(manual).push(path)
  }
  const lists = [...manuals.values()].map((paths) => paths.sort()).sort((a, b) => a.length - b.length)
  const chosen = []
  for (const [index, paths] of lists.entries()) {
    const share = Math.min(paths.length, Math.ceil((count - chosen.length) / (lists.length - index)))
    for (let n = 0; n < share; n++) chosen.push(paths[Math.floor((n * paths.length) / share)])
  }
  return chosen.slice(0, count)
}
