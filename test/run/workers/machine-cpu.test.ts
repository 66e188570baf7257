import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { machineCpu } from '../../../src/run/workers/machine-cpu.js'

/** A machine with 8 cores of which `idle` were idle, and these files. */
function machine(files: Readonly<Record<string, string>> = {}) {
  const clock = new ManualClock()
  const state = { idle: 0, total: 0, files: { ...files } as Record<string, string> }
  const cpu = machineCpu(clock, {
    cores: 8,
    times: () => ({ idle: state.idle, total: state.total }),
    read: (path) => state.files[path] ?? null,
  })
  const pass = async (seconds: number, idleCores: number, changed: Readonly<Record<string, string>> = {}) => {
    state.idle += idleCores * seconds * 1_000
    state.total += 8 * seconds * 1_000
    Object.assign(state.files, changed)
    clock.advance(seconds * 1_000)
  }
  return { cpu, pass }
}

describe('the CPU of the machine', () => {
  it('counts the idle cores since the last call', async () => {
    const { cpu, pass } = machine()
    expect(cpu.cores).toBe(8)
    expect(cpu.idleCores(), 'no time has passed').toBe(0)
    await pass(2, 6.5)
    expect(cpu.idleCores()).toBeCloseTo(6.5)
    await pass(1, 0)
    expect(cpu.idleCores()).toBe(0)
  })

  it('a container may use less than the machine has', async () => {
    const { cpu, pass } = machine({
      '/proc/self/cgroup': '0::/\n',
      '/sys/fs/cgroup/cpu.max': '250000 100000\n',
      '/sys/fs/cgroup/cpu.stat': 'usage_usec 1000000\nuser_usec 1\n',
    })
    expect(cpu.cores).toBe(2)
    await pass(2, 6, { '/sys/fs/cgroup/cpu.stat': 'usage_usec 4000000\nuser_usec 1\n' })
    expect(cpu.idleCores()).toBeCloseTo(1)
    await pass(1, 0.25)
    expect(cpu.idleCores(), 'the machine itself is busy').toBeCloseTo(0.25)
  })

  it('a limit of a group above counts, and "max" is none', () => {
    const { cpu } = machine({
      '/proc/self/cgroup': '0::/kubepods/pod1/box\n',
      '/sys/fs/cgroup/kubepods/pod1/box/cpu.max': 'max 100000\n',
      '/sys/fs/cgroup/kubepods/pod1/cpu.max': '50000 100000\n',
      '/sys/fs/cgroup/kubepods/cpu.max': '400000 100000\n',
    })
    expect(cpu.cores, 'half a core runs one process').toBe(1)
  })

  it('reads the first version of control groups as well', async () => {
    const { cpu, pass } = machine({
      '/proc/self/cgroup': '4:cpu,cpuacct:/docker/box\n0::/\n',
      '/sys/fs/cgroup/cpu/docker/box/cpu.cfs_quota_us': '300000\n',
      '/sys/fs/cgroup/cpu/docker/box/cpu.cfs_period_us': '100000\n',
      '/sys/fs/cgroup/cpu/docker/box/cpuacct.usage': '0\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    })
    expect(cpu.cores).toBe(3)
    await pass(1, 8, { '/sys/fs/cgroup/cpu/docker/box/cpuacct.usage': '1500000000\n' })
    expect(cpu.idleCores()).toBeCloseTo(1.5)
  })
})
