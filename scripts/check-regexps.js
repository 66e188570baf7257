#!/usr/bin/env node
// `npm run check` fails if a regular expression of ours may take more than linear time: a page with 8,000 spaces once kept a worker busy for a minute.
// What decides is recheck, which proves an expression safe or shows a text that attacks it. `node scripts/check-regexps.js <path…>` checks only these paths.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { check } from 'recheck'
import { regexpsIn } from './regexps.js'

/**
 * Expressions that are not linear, or are only known at run time, and why that does no harm: file, how the pattern begins (null: built at run time), what
 * bounds the text it is used on. Never add one that is used on a page, a header or a URL of any length: rewrite it as a loop, with indexOf(), or so that
 * no two parts match the same characters.
 */
const BOUNDED = [
  ['src/cli/terminal/format.ts', '\\B(?=(\\d{3})+$)', 'the digits of one number, at most 25 characters'],
  ['src/entry-file.ts', '([\\\\/])src', 'paths of files of this package'],
  ['src/redis/slim-script.ts', '', "Lua files of this package; no other program's text"],
  ['src/spider/fields.ts', null, 'written by the author of the spider; docs/spiders.md says what happens'],
  ['src/spider/html/selector.ts', null, 'an escaped word between two white spaces: no repetition'],
  ['src/spider/pagination-words.ts', '', 'labels of at most 60 characters, texts of at most LABEL_CHARS'],
  ['src/url/patterns.ts', null, 'written by the author of the spider, used on URLs of at most 2,048 characters'],
]

const CACHE = 'node_modules/.cache/regexps.json'
/** One process of recheck each. */
const AT_ONCE = 2
/** A check usually takes 20 ms. One that takes a minute is no proof. */
const TIMEOUT_MS = 60_000
/** Steps decide, not milliseconds: with the time limits of recheck, a busy machine called another linear expression quadratic in each run. */
const LIMITS = {
  ...{ timeout: TIMEOUT_MS, randomSeed: 1 },
  ...{ attackTimeout: null, incubationTimeout: null, seedingTimeout: null },
}

const given = process.argv.slice(2)
const files = execFileSync('git', ['ls-files', ...(given.length > 0 ? given : ['src', 'dashboard/src'])], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.tsx?$/.test(file) && existsSync(file))

const all = files.flatMap((file) => regexpsIn(readFileSync(file, 'utf8'), file).map((found) => ({ file, ...found })))
const usedBounds = new Set()
const left = all.filter(({ file, pattern }) => {
  const bound = BOUNDED.find(
    ([where, start]) => where === file && (start === null ? pattern === null : pattern?.startsWith(start)),
  )
  usedBounds.add(bound)
  return bound === undefined
})

const verdicts = readCache()
const unchecked = [
  ...new Set(
    left
      .filter(({ pattern }) => pattern !== null && mayRepeat(pattern))
      .map((found) => `/${found.pattern}/${found.flags}`),
  ),
].filter((key) => verdicts[key] === undefined)
await Promise.all(Array.from({ length: AT_ONCE }, checkNext))
writeCache()

const problems = left.flatMap(({ file, line, pattern, flags, code }) => {
  const where = `${file}:${line}: ${code}`
  if (pattern === null)
    return [`${where}\n  is built from what only the running program knows. Build it from constants of its file.`]
  const attack = verdicts[`/${pattern}/${flags}`]
  return attack === 'safe' || !mayRepeat(pattern) ? [] : [`${where}\n  ${attack}`]
})
const stale = given.length > 0 ? [] : BOUNDED.filter((bound) => !usedBounds.has(bound))
for (const problem of problems) console.error(problem)
for (const [file, start] of stale)
  console.error(`${file}: ${start ?? 'built at run time'} is in BOUNDED and no longer in the file`)
if (problems.length > 0) console.error(`${problems.length} of ${all.length} regular expressions may backtrack`)
process.exitCode = problems.length + stale.length > 0 ? 1 : 0

/** Without `*`, `+` and `{2,}`, and with one `{2,9}` at most, an expression tries a bounded number of characters from each place. */
function mayRepeat(pattern) {
  const bare = pattern.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gs, '')
  return /[*+]|\{\d+,\}|\{.*\{/s.test(bare)
}

async function checkNext() {
  for (let key = unchecked.pop(); key !== undefined; key = unchecked.pop()) {
    const end = key.lastIndexOf('/')
    const verdict = await check(key.slice(1, end), key.slice(end + 1), LIMITS)
    verdicts[key] = inWords(verdict)
  }
}

function inWords({ status, complexity, attack, error }) {
  if (status === 'safe') return 'safe'
  if (status === 'unknown') return `cannot be checked: ${error.kind}`
  return `takes ${complexity.summary} time on ${attack.pattern}`
}

/** What recheck says of an expression never changes, so that a second run takes no time. */
function readCache() {
  const version = JSON.parse(readFileSync('node_modules/recheck/package.json', 'utf8')).version
  const cached = existsSync(CACHE) ? JSON.parse(readFileSync(CACHE, 'utf8')) : {}
  return cached.version === version ? cached : { version }
}

function writeCache() {
  mkdirSync('node_modules/.cache', { recursive: true })
  writeFileSync(CACHE, JSON.stringify(verdicts))
}
