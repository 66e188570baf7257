import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { cutChangelog, nextVersion } from './release-plan.js'

const HELP = `npm run release -- <major|minor|patch|x.y.z> [options]

Releases Shoal from a clean checkout of main:
  1. checks that the tree is clean, the branch is main, the tag is free and CHANGELOG.md has something under "Unreleased"
  2. runs .ci/run: a clean install and every test
  3. sets the version in package.json and package-lock.json, and moves "Unreleased" in CHANGELOG.md under the version and today's date
  4. packs shoal-<version>.tgz, commits and tags v<version>

Nothing is pushed or published; the last lines say how. If a step fails, the files are restored and nothing is committed.

  --dry-run     check, print what would happen, change nothing
  --skip-tests  skip step 2, for a commit that CI has already tested
  --help        show this text

Exit code 1: a check or a step failed. Exit code 2: the command line is wrong.`

const CHANGED = ['package.json', 'package-lock.json', 'CHANGELOG.md']

const { values, positionals } = readArgs()
const [wanted] = positionals
if (values.help || wanted === undefined) {
  console.log(HELP)
  process.exit(values.help ? 0 : 2)
}
try {
  release(wanted)
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : error}`)
  process.exit(1)
}

function readArgs() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        'dry-run': { type: 'boolean', default: false },
        'skip-tests': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    console.error(`release: ${error instanceof Error ? error.message : error}`)
    process.exit(2)
  }
}

function release(wanted: string): void {
  const { version: current } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
  const version = nextVersion(current, wanted)
  const today = new Date().toISOString().slice(0, 10)
  const changelog = cutChangelog(readFileSync('CHANGELOG.md', 'utf8'), version, today)
  checkRepository(version)

  if (values['dry-run']) {
    const tests = values['skip-tests'] ? 'skip the tests' : 'run .ci/run'
    console.log(`Would ${tests}, set version ${version} (now ${current}), pack, commit and tag v${version}.`)
    console.log(`CHANGELOG.md, under ${version} (${today}):\n\n${changelog.notes}`)
    return
  }
  if (!values['skip-tests']) run('.ci/run')
  try {
    writeFileSync('CHANGELOG.md', changelog.text)
    run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version', '--ignore-scripts')
    run('npm', 'pack')
    run('git', 'commit', '--quiet', '--message', `Release ${version}`, ...CHANGED)
  } catch (error) {
    run('git', 'checkout', '--quiet', 'HEAD', '--', ...CHANGED)
    throw error
  }
  run('git', 'tag', '--annotate', `v${version}`, '--message', `Shoal ${version}`)
  console.log(`Released ${version}. To publish it:\n  git push --follow-tags\n  npm publish shoal-${version}.tgz`)
}

function checkRepository(version: string): void {
  const branch = read('git', 'branch', '--show-current')
  if (branch !== 'main') throw new Error(`a release starts from main, not from ${branch || 'a detached HEAD'}`)
  const changes = read('git', 'status', '--porcelain')
  if (changes !== '') throw new Error(`the working tree is not clean; commit or stash first:\n${changes}`)
  if (read('git', 'tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} already exists`)
}

function read(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8' }).trim()
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: 'inherit' })
}
