import { readFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import type { Clock } from '../../clock.js'

export interface MachineCpu {
  /** How many processes can run at once: the cores of this machine, or what its container may use. At least 1. */
  readonly cores: number
  /** Cores that nobody used since the last call, by the machine and by the limit of the container, whichever is less. 0 at first. */
  idleCores(): number
}

/** What is read from the system; tests have their own. */
export interface CpuSource {
  readonly cores: number
  /** Milliseconds of all cores since the machine was started. */
  times(): { readonly idle: number; readonly total: number }
  /** The text of a file; null if there is none. */
  read(path: string): string | null
}

/** The CPU that the container of this process may use, in cores, and the file with what it has used. */
interface Quota {
  readonly cores: number
  usedMs(): number
}

export function machineCpu(clock: Pick<Clock, 'mono'>, source: CpuSource = systemCpu): MachineCpu {
  const quota = quotaOf(source)
  const sample = () => ({ atMs: clock.mono(), ...source.times(), usedMs: quota?.usedMs() ?? 0 })
  let last = sample()
  return {
    cores: Math.max(1, Math.floor(Math.min(source.cores, quota?.cores ?? source.cores))),
    idleCores() {
      const before = last
      last = sample()
      const total = last.total - before.total
      if (total <= 0 || last.atMs <= before.atMs) return 0
      const ofMachine = (source.cores * (last.idle - before.idle)) / total
      if (quota === null) return Math.max(0, ofMachine)
      const used = (last.usedMs - before.usedMs) / (last.atMs - before.atMs)
      return Math.max(0, Math.min(ofMachine, quota.cores - used))
    },
  }
}

const systemCpu: CpuSource = {
  cores: availableParallelism(),
  times() {
    let idle = 0
    let total = 0
    for (const { times } of cpus()) {
      idle += times.idle
      total += times.user + times.nice + times.sys + times.irq + times.idle
    }
    return { idle, total }
  },
  read(path) {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return null
    }
  },
}

/** The strictest limit of the control groups of this process; null: it may use every core. Only Linux has these files. */
function quotaOf(source: CpuSource): Quota | null {
  const own = source.read('/proc/self/cgroup') ?? ''
  const quotas = [
    ...foldersOf(own, '', '/sys/fs/cgroup').map((folder) => secondVersion(folder, source)),
    ...foldersOf(own, 'cpu', '/sys/fs/cgroup/cpu').map((folder) => firstVersion(folder, source)),
  ].filter((quota) => quota !== null)
  return quotas.reduce<Quota | null>(
    (strictest, quota) => (strictest === null || quota.cores < strictest.cores ? quota : strictest),
    null,
  )
}

/** The folder of the control group and those above it, because any of them may have a limit. Inside a container its own folder is the root. */
function foldersOf(groups: string, controller: string, root: string): string[] {
  const names = groupOf(groups, controller)
    .split('/')
    .filter((name) => name !== '')
  return Array.from({ length: names.length + 1 }, (_, depth) => [root, ...names.slice(0, depth)].join('/'))
}

/** Lines are `4:cpu,cpuacct:/group` in the first version of control groups, and `0::/group` in the second, which has one for all controllers. */
function groupOf(groups: string, controller: string): string {
  for (const line of groups.split('\n')) {
    const [, controllers = '', ...path] = line.split(':')
    if (path.length > 0 && controllers.split(',').includes(controller)) return path.join(':')
  }
  return '/'
}

function secondVersion(folder: string, { read }: CpuSource): Quota | null {
  const [quotaUs, periodUs] = (read(`${folder}/cpu.max`) ?? '').trim().split(' ').map(Number)
  const cores = coresOf(quotaUs, periodUs)
  if (cores === null) return null
  const usedMs = () => Number(/^usage_usec (\d+)$/m.exec(read(`${folder}/cpu.stat`) ?? '')?.[1] ?? 0) / 1_000
  return { cores, usedMs }
}

function firstVersion(folder: string, { read }: CpuSource): Quota | null {
  const cores = coresOf(Number(read(`${folder}/cpu.cfs_quota_us`)), Number(read(`${folder}/cpu.cfs_period_us`)))
  if (cores === null) return null
  return { cores, usedMs: () => Number(read(`${folder}/cpuacct.usage`) ?? 0) / 1e6 }
}

/** `max` and -1 mean no limit. */
function coresOf(quotaUs: number | undefined, periodUs: number | undefined): number | null {
  const cores = (quotaUs ?? Number.NaN) / (periodUs ?? Number.NaN)
  return cores > 0 && Number.isFinite(cores) ? cores : null
}
