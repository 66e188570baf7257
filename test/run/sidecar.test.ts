import { expect, it } from 'vitest'
import { closeSidecar } from '../../src/run/sidecar.js'
import { logInto } from './alerts/watched.js'

it('what fails to end beside the work is told, and stands in the way of nothing that comes after it', async () => {
  const told: string[] = []
  await closeSidecar(() => Promise.reject(new Error('no')), logInto(told))
  await closeSidecar(undefined, logInto(told))
  expect(told).toEqual([expect.stringMatching(/^backend\.warning .*no/)])
})
