import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url))
/** Until there is a release tag: the last commit before Shoal could be deployed. */
const BEFORE_THE_FIRST_RELEASE = '1f2f361afeef209748d9431439ce898ba9787a18'

export class NoPreviousBuild extends Error {}

/** A folder with the version to upgrade from, built. `from`: a commit, a tag or a folder; null: the newest release tag, else the recorded commit. */
export function previousBuild(from: string | null): string {
  if (from !== null && existsSync(from)) return built(resolve(from))
  const commit = commitOf(from ?? newestRelease() ?? BEFORE_THE_FIRST_RELEASE)
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'shoal', 'builds', commit)
  if (!existsSync(folder)) build(commit, folder)
  return built(folder)
}

function built(folder: string): string {
  if (existsSync(join(folder, 'dist/cli/main.js'))) return folder
  throw new NoPreviousBuild(`${folder} is not built: run npm ci && npm run build in it`)
}

function newestRelease(): string | null {
  return git('tag', '--list', 'v*', '--sort=-v:refname').split('\n')[0] || null
}

function commitOf(name: string): string {
  try {
    return git('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`)
  } catch {
    throw new NoPreviousBuild(
      `this clone has no commit ${name}: fetch the history with git fetch --unshallow --tags, or pass --from <commit|folder>`,
    )
  }
}

/** Under another name until it is complete: a build that was interrupted is not taken for one. */
function build(commit: string, folder: string): void {
  const making = `${folder}.${process.pid}`
  try {
    mkdirSync(making, { recursive: true })
    const archive = execFileSync('git', ['archive', commit], { cwd: REPOSITORY, maxBuffer: 1 << 30 })
    execFileSync('tar', ['-x', '-C', making], { input: archive })
    // The same packages: no need to install them again.
    const lockfile = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
    if (lockfile(making) === lockfile(REPOSITORY))
      cpSync(join(REPOSITORY, 'node_modules'), join(making, 'node_modules'), {
        recursive: true,
        verbatimSymlinks: true,
      })
    else execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: making, stdio: 'inherit' })
    execFileSync('npm', ['run', 'build'], { cwd: making, stdio: 'inherit' })
    renameSync(making, folder)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: REPOSITORY, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
