import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BlobStore } from '../../src/store/blob-store.js'

/** What every blob store must do. `open` gives an empty store. */
export function blobStoreContract(name: string, open: () => Promise<BlobStore>): void {
  describe(`${name}: blob store contract`, () => {
    let store: BlobStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const bytes = (text: string) => new TextEncoder().encode(text)

    it('gives back the bytes of a page and of an image', async () => {
      const page = bytes(`<html>${'<p>Größe</p>'.repeat(1000)}</html>`)
      const image = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7919) % 256)
      const pageRef = await store.put(page, 'text/html; charset=utf-8')
      const imageRef = await store.put(image, 'image/png')
      expect(pageRef).toMatch(/^sha256:[0-9a-f]{64}$/)
      expect(Buffer.from((await store.get(pageRef)) ?? [])).toEqual(Buffer.from(page))
      expect(Buffer.from((await store.get(imageRef)) ?? [])).toEqual(Buffer.from(image))
    })

    it('gives the same bytes the same reference, whatever the type and however many put it at once', async () => {
      const refs = await Promise.all(
        ['text/html', 'image/png', 'text/html', ''].map((type) => store.put(bytes('same'), type)),
      )
      expect(new Set(refs).size).toBe(1)
      expect(await store.put(bytes('other'), 'text/html')).not.toBe(refs[0])
      expect(Buffer.from((await store.get(refs[0])) ?? []).toString()).toBe('same')
    })

    it('knows what it has without reading it', async () => {
      const ref = await store.put(bytes('kept'), 'text/html')
      expect(await store.has(ref)).toBe(true)
      expect(await store.has(`sha256:${'0'.repeat(64)}`)).toBe(false)
      expect(await store.has('no reference')).toBe(false)
    })

    it('waits for nobody when it is told that nobody comes', async () => {
      const put = store.put(bytes('alone'), 'text/html')
      store.hurry()
      expect(Buffer.from((await store.get(await put)) ?? []).toString()).toBe('alone')
      store.hurry()
    })

    it('keeps many pages put at once, of all sizes', async () => {
      await store.ready()
      const pages = Array.from({ length: 200 }, (_, n) => bytes(`<p>${n}</p>`.repeat(n * 10)))
      const refs = await Promise.all(pages.map((page) => store.put(page, 'text/html')))
      expect(new Set(refs).size).toBe(pages.length)
      const back = await Promise.all(refs.map((ref) => store.get(ref)))
      expect(back.map((page) => Buffer.from(page ?? []).toString())).toEqual(
        pages.map((page) => Buffer.from(page).toString()),
      )
    })

    it('answers for what is gathered before it closes', async () => {
      const put = store.put(bytes('last'), 'text/html')
      await store.close()
      await expect(put).resolves.toMatch(/^sha256:/)
    })

    it('keeps an empty body', async () => {
      const ref = await store.put(new Uint8Array(), 'text/html')
      expect(await store.get(ref)).toHaveLength(0)
      expect(await store.put(new Uint8Array(), 'text/html')).toBe(ref)
    })

    it('answers null for what it does not have and for what is no reference', async () => {
      for (const ref of [`sha256:${'0'.repeat(64)}`, 'sha256:../../etc/passwd', `md5:${'0'.repeat(64)}`, '']) {
        expect(await store.get(ref)).toBeNull()
      }
    })
  })
}
