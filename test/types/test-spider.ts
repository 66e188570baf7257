/** Checked by the compiler alone (npm run check): every @ts-expect-error below must really be an error. */
import { z } from 'zod'
import { defineSpider } from '../../src/index.js'
import { testSpider } from '../../src/test.js'

const spider = defineSpider({
  name: 'types',
  start: ['https://a.example/'],
  records: { page: z.object({ size: z.string().transform(Number) }), free: {} },
  routes: { page: { match: '**' }, tagged: { data: z.object({ tag: z.string() }) } },
})

export async function test(): Promise<void> {
  const { page, fixture } = testSpider(spider)
  const { records } = await page({ url: 'https://a.example/', html: '<p>' })
  for (const record of records) {
    if (record.kind === 'free') continue
    const size: number = record.data.size
    // @ts-expect-error as it comes out of the schema
    const text: string = record.data.size
    console.log(size, text)
  }
  await page({ url: 'https://a.example/', route: 'tagged', data: { tag: 'a' } })
  // @ts-expect-error no such route
  await page({ url: 'https://a.example/', route: 'tgaged' })
  // @ts-expect-error this route wants data
  await page({ url: 'https://a.example/', route: 'tagged' })
  // @ts-expect-error a page has a URL
  await page({ html: '' })
  const { differences } = await fixture('fixtures/a.html')
  console.log(differences.length)
}
