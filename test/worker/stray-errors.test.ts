import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { createLog } from '../../src/log.js'
import { StrayErrors } from '../../src/worker/stray-errors.js'

function strays() {
  const lines: Record<string, unknown>[] = []
  const log = createLog('warn', systemClock, (line) => lines.push(JSON.parse(line) as Record<string, unknown>))
  return { strays: new StrayErrors({ clock: systemClock, log }), lines }
}

const link = (name: string) => ({ fp: name, url: `https://a.example/${name}` })
const forever = new Promise<never>(() => {})

it('a stray error fails the page that it belongs to, and no other', async () => {
  const { strays: found } = strays()
  const good = found.run(link('good'), async () => {
    await systemClock.sleep(30)
    return 'good'
  })
  const bad = found.run(link('bad'), () => {
    setTimeout(() => expect(found.caught(null)).toBe(true), 1)
    return forever
  })
  await expect(bad).rejects.toMatchObject({
    code: 'handler_error',
    message: 'in a callback that the handler did not wait for: null',
  })
  expect(await good).toBe('good')
})

it('a page waits a moment for what its handler forgot', async () => {
  const { strays: found } = strays()
  const page = found.run(link('forgets'), async () => {
    setTimeout(() => found.caught(new TypeError('late')))
  })
  await expect(page).rejects.toMatchObject({ message: expect.stringContaining('TypeError: late') })
})

it('a stray error of a page that is done is logged with its URL', async () => {
  const { strays: found, lines } = strays()
  let later = () => {}
  const waited = new Promise<void>((resolve) => {
    later = resolve
  })
  const caught = new Promise<boolean>((resolve) => {
    void found.run(link('done'), async () => {
      void waited.then(() => resolve(found.caught(7)))
    })
  })
  await systemClock.sleep(60)
  later()
  expect(await caught).toBe(true)
  expect(lines).toMatchObject([{ event: 'spider.uncaught', fp: 'done', url: 'https://a.example/done' }])
})

it('an error outside of every page is not caught', () => {
  expect(strays().strays.caught(new Error('ours'))).toBe(false)
})
