import { describe, expect, it } from 'vitest'
import { Closers, withClosers } from '../src/closers.js'

const fail = (message: string) => () => {
  throw new Error(message)
}

function recorded() {
  const closed: string[] = []
  const closing = (name: string, after: Promise<unknown> = Promise.resolve()) => {
    return async () => {
      await after
      closed.push(name)
    }
  }
  return { closed, closing }
}

describe('closers', () => {
  it('close in reverse order, each after the one before has ended', async () => {
    const { closed, closing } = recorded()
    const closers = new Closers()
    closers.add(closing('backends'))
    closers.add(closing('outlets'))
    closers.add(closing('workers', new Promise((resolve) => setTimeout(resolve, 20))))
    expect(await closers.close()).toEqual([])
    expect(closed).toEqual(['workers', 'outlets', 'backends'])
  })

  it('close at the same time what was added together', async () => {
    const { closed, closing } = recorded()
    const closers = new Closers()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    closers.add(closing('backends'))
    closers.add(closing('slow worker', held), async () => release())
    expect(await closers.close()).toEqual([])
    expect(closed).toEqual(['slow worker', 'backends'])
  })

  it('close the rest when one fails, and answer with every failure', async () => {
    const { closed, closing } = recorded()
    const closers = new Closers()
    closers.add(closing('backends'))
    closers.add(fail('first'), closing('beside it'))
    closers.add(() => Promise.reject(new Error('second')))
    expect((await closers.close()).map(String)).toEqual(['Error: second', 'Error: first'])
    expect(closed).toEqual(['beside it', 'backends'])
    expect(await closers.close()).toEqual([])
  })

  it('move one that is added again to the front', async () => {
    const { closed, closing } = recorded()
    const closers = new Closers()
    const sidecar = closing('sidecar')
    closers.add(sidecar)
    closers.add(closing('workers'))
    closers.add(sidecar)
    await closers.close()
    expect(closed).toEqual(['sidecar', 'workers'])
  })
})

describe('withClosers', () => {
  it('answers with the result, after everything is closed', async () => {
    const { closed, closing } = recorded()
    const result = await withClosers(fail('reported'), async (closers) => {
      closers.add(closing('backends'))
      return 'done'
    })
    expect([result, ...closed]).toEqual(['done', 'backends'])
  })

  it('throws the failure of the work and reports those of closing after it', async () => {
    const reported: string[] = []
    const work = withClosers(
      (failure) => reported.push(String(failure)),
      async (closers) => {
        closers.add(fail('close'))
        throw new Error('work')
      },
    )
    await expect(work).rejects.toThrow('work')
    expect(reported).toEqual(['Error: close'])
  })

  it('throws the first failure of closing when the work itself succeeded', async () => {
    const reported: string[] = []
    const work = withClosers(
      (failure) => reported.push(String(failure)),
      async (closers) => {
        closers.add(fail('backends'))
        closers.add(fail('workers'))
      },
    )
    await expect(work).rejects.toThrow('workers')
    expect(reported).toEqual(['Error: backends'])
  })
})
