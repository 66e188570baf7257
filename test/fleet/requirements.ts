import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { FAKETIME } from './clocks.js'

/** Why the fleet cannot be started here, and what to do about it. */
export class CannotRun extends Error {}

/** Programs that the network needs, and the Debian package of each. */
const PROGRAMS: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  nft: 'nftables',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  hostname: 'hostname',
}

/** Pure: what to install, and what to say if that is not possible. */
export function missingPackages(has: (program: string) => boolean, needsClocks: boolean): string[] {
  const missing = Object.entries(PROGRAMS).filter(([program]) => !has(program))
  const packages = missing.map(([, name]) => name)
  if (needsClocks && !has(FAKETIME)) packages.push('faketime')
  return [...new Set(packages)]
}

/** Installs what is missing where apt is; throws with the next step otherwise. */
export function prepareMachine(needsClocks: boolean): void {
  if (process.platform !== 'linux')
    throw new CannotRun(`A fleet needs Linux network namespaces, and this is ${process.platform}. Run it on Linux.`)
  if (process.getuid?.() !== 0)
    throw new CannotRun('A fleet needs root to create network namespaces. Run: sudo npm run fleet')
  const missing = missingPackages(isInstalled, needsClocks)
  if (missing.length === 0) return
  const command = `apt-get install -y --no-install-recommends ${missing.join(' ')}`
  if (!isInstalled('apt-get')) throw new CannotRun(`Not installed: ${missing.join(', ')}. Install them and run again.`)
  console.error(`Installing ${missing.join(', ')} …`)
  try {
    execFileSync('apt-get', command.split(' ').slice(1), { stdio: ['ignore', 'ignore', 'inherit'] })
  } catch {
    throw new CannotRun(`Could not install ${missing.join(', ')}. Run: apt-get update && ${command}`)
  }
}

function isInstalled(program: string): boolean {
  if (program.startsWith('/')) return existsSync(program)
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']
  return places.some((place) => {
    try {
      accessSync(join(place, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const LOCK = join(tmpdir(), 'shoal-fleet.pid')

/** The names and addresses of the network are fixed, so one run at a time. What a killed run has left is removed by the next. */
export function takeLock(): void {
  const holder = existsSync(LOCK) ? Number(readFileSync(LOCK, 'utf8')) : 0
  if (holder > 0 && isFleet(holder))
    throw new CannotRun(
      `Another run (process ${holder}) uses the network of the fleet. Wait for it, or run: kill ${holder}`,
    )
  writeFileSync(LOCK, String(process.pid))
  process.on('exit', () => rmSync(LOCK, { force: true }))
}

/** Process ids are used again: one that does something else is none of ours. */
function isFleet(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('fleet/main')
  } catch {
    return false
  }
}
