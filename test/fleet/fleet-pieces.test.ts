import { describe, expect, it } from 'vitest'
import { parseFleetArguments } from './arguments.js'
import { fakeClock } from './clocks.js'
import { fleetHosts, PREFIX, RULES, rangeOf, setUpCommands } from './network.js'
import { countsOf, exitCodeOf, showList } from './report.js'
import { missingPackages } from './requirements.js'
import { pagesFor } from './run-fleet-scenario.js'
import { SCENARIOS } from './scenarios.js'

const parse = (...args: string[]) => parseFleetArguments(args, () => 42)

describe('the arguments of a fleet run', () => {
  it('choose scenarios: the default set, all, or by name', () => {
    expect(parse().chosen.every(({ byDefault }) => byDefault)).toBe(true)
    expect(parse('--all').chosen).toHaveLength(SCENARIOS.length)
    expect(parse('--scenario', 'cable,clocks').chosen.map(({ id }) => id)).toEqual(['cable', 'clocks'])
    expect(parse('--seed', '7', '--workers', '5')).toMatchObject({ seed: 7, workers: 5 })
    expect(parse()).toMatchObject({ seed: 42, workers: 3 })
  })

  it.each([
    [['--scenario', 'partitoin'], /Did you mean partition\?/],
    [['--workers', '2'], /3 to 10/],
    [['--workers', 'x'], /not a whole number/],
    [['--wrokers', '3'], /--help/],
  ])('%j is refused with the next step', (args, message) => {
    expect(() => parse(...args)).toThrow(message)
  })
})

describe('the network', () => {
  const hosts = fleetHosts(3, 20)

  it('gives every host a namespace, a cable and an address of its own', () => {
    const commands = setUpCommands(hosts)
    expect(commands.filter((line) => line.startsWith(`netns add ${PREFIX}`))).toHaveLength(6)
    const addresses = commands.filter((line) => line.includes(' addr add ')).map((line) => line.split(' ').at(-3))
    expect(new Set(addresses).size).toBe(addresses.length)
    // The kernel allows 15 letters for the name of a device.
    for (const { name } of fleetHosts(10, 1).workers) expect(`${PREFIX}${name}`.length).toBeLessThanOrEqual(15)
  })

  it('has the site as a range, and a set for each kind of loss', () => {
    expect(rangeOf(hosts.site)).toBe('10.177.1.0/24')
    for (const loss of ['cut', 'mute', 'shrunk']) expect(RULES).toContain(`@${loss}`)
  })
})

describe('a run', () => {
  it('is long enough for its fault', () => {
    expect(pagesFor({ faultMs: 15_000 })).toBe(2_160)
  })

  it('ends with 1 after a violation, with 2 if it proves nothing', () => {
    const [passed, violated, invalid] = (['passed', 'violated', 'invalid'] as const).map((verdict) => ({ verdict }))
    if (passed === undefined || violated === undefined || invalid === undefined) throw new Error('unreachable')
    expect(exitCodeOf([passed], 0)).toBe(0)
    expect(exitCodeOf([passed, invalid, violated], 1)).toBe(1)
    expect(exitCodeOf([passed, invalid], 0)).toBe(2)
    expect(exitCodeOf([passed], 1)).toBe(2)
  })

  it('counts every violation in one column', () => {
    for (let nth = 1; nth <= 12; nth++) {
      const counts = countsOf([{ invariant: `I${nth as 1}`, detail: '' }])
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(1)
    }
  })

  it('lists scenarios with different names, those of a run without options marked', () => {
    expect(new Set(SCENARIOS.map(({ id }) => id)).size).toBe(SCENARIOS.length)
    expect(showList(SCENARIOS)).toMatch(/^\* partition {2,}a worker cut off/)
  })

  it('names the packages that are missing', () => {
    expect(missingPackages(() => true, true)).toEqual([])
    expect(missingPackages((program) => program !== 'nft', true)).toEqual(['nftables'])
    expect(missingPackages((program) => !program.includes('faketime'), true)).toEqual(['faketime'])
    expect(missingPackages((program) => !program.includes('faketime'), false)).toEqual([])
  })

  it('leaves the monotonic clock alone unless the clock is fast', () => {
    expect(fakeClock('+1h')).toContain('FAKETIME_DONT_FAKE_MONOTONIC=1')
    expect(fakeClock('+0 x1.05')).toContain('FAKETIME_DONT_FAKE_MONOTONIC=0')
  })
})
