import { expect, test } from 'vitest'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { showSimulation } from '../../../src/cli/views/simulate-view.js'
import { profileOf } from '../../../src/simulate/profile.js'
import { simulate, simulateWatched } from '../../../src/simulate/simulate.js'

const NO_COLORS = { NO_COLOR: '1' }

function page(width: number) {
  const lines: string[] = []
  const print = (text = '') => void lines.push(...text.split('\n'))
  return { lines, output: { print, style: styleFor(process.stdout, NO_COLORS), width } }
}

test.each([80, 160])('fits into %i columns', (width) => {
  const { lines, output } = page(width)
  const profile = profileOf({
    ...{ urls: 2_000, hosts: 200, workers: 3 },
    ...{ proxies: { count: 20, banned: 0.02 }, rateLimits: { hosts: 0.2 }, prices: { workerHour: 0.04, proxyGb: 3 } },
  })
  showSimulation(output, profile, simulate(profile), { p10: 3_600_000, p90: 90_000_000 })
  expect(lines.filter((line) => line.length > width)).toEqual([])
  expect(lines[0]).toBe('profile: 2,000 URLs on 200 hosts, 3 workers, 20 proxies')
  expect(lines.join('\n')).toMatch(/ends after .*\npages .*\npace /)
})

test('the result of a part is marked as such', async () => {
  const { lines, output } = page(80)
  const profile = profileOf({ urls: 1_000_000, hosts: 100 })
  const result = await simulateWatched(profile, { progress: () => false })
  showSimulation(output, profile, result, null)
  expect(result.complete).toBe(false)
  expect(lines[0]).toMatch(/^stopped: this is what happens in the first .*, not the whole crawl$/)
  expect(lines.join('\n')).toMatch(/^simulated /m)
})
