import { expect, it } from 'vitest'
import { hostShown } from '../../src/api/host-routes.js'
import type { HostInfo } from '../../src/frontier/frontier.js'

it('a host without a limit is shown with a number, which JSON has', () => {
  const { concurrency } = hostShown({ concurrency: Number.POSITIVE_INFINITY } as HostInfo)
  expect(JSON.parse(JSON.stringify({ concurrency }))).toEqual({ concurrency: 1e9 })
})
