import { expect, it } from 'vitest'
import { openSidecar, type SidecarParts } from '../../src/run/sidecar.js'
import { logInto } from './alerts/watched.js'

it('a sidecar that fails to close is logged and does not fail what closes after it', async () => {
  const lines: string[] = []
  const parts = { log: logInto(lines) } as SidecarParts
  const close = await openSidecar(async (_, closers) => closers.add(() => Promise.reject(new Error('no'))), parts)
  await close()
  await (await openSidecar(undefined, parts))()
  expect(lines).toEqual([expect.stringMatching(/^backend\.warning .*no/)])
})

it('a sidecar that cannot be opened fails the command, and what it had opened is closed', async () => {
  const closed: string[] = []
  const opening = openSidecar(
    async (_, closers) => {
      closers.add(() => closed.push('metrics'))
      throw new Error('the port is in use')
    },
    { log: logInto([]) } as SidecarParts,
  )
  await expect(opening).rejects.toThrow('in use')
  expect(closed).toEqual(['metrics'])
})
