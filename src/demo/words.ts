/** Words of the demo shop: enough for different titles and realistic text. */
export const ADJECTIVES = (
  'Amber Ancient Brass Coastal Copper Crimson Distant Driftwood Early Evening Folding Gentle Glass Golden ' +
  'Harbour Hidden Indigo Ivory Linen Little Lunar Marble Midnight Northern Oaken Painted Pocket Quiet Salted ' +
  'Silver Southern Tidal Travelling Velvet Winter Woven'
).split(' ')

export const NOUNS = (
  'Almanac Anchor Atlas Barometer Basket Bell Blanket Bottle Compass Cup Garden Hammock Journal Kettle Kite ' +
  'Knife Ladder Lamp Lantern Map Mirror Net Oar Paddle Rope Sail Scarf Sextant Shell Stool Teapot Telescope ' +
  'Trunk Umbrella Whistle Window'
).split(' ')

export const CATEGORIES =
  'Navigation Kitchen Deck Reading Lighting Clothing Fishing Garden Games Storage Weather Gifts'.split(' ')

const SENTENCES = [
  'Made by hand in a workshop that smells of tar and fresh shavings.',
  'It has crossed the bay more often than the ferry, and complained less.',
  'The handle is ash & leather; the rest is patience.',
  'Customers who bought it say that the neighbours asked where it came from.',
  'Rinse after use, dry in the shade, and do not lend it to your brother.',
  'Every piece carries the number of the day it was finished.',
  'We tried to make it cheaper once, and were ashamed of the result.',
  'It weighs less than it looks and lasts longer than it should.',
  'Packed in straw and brown paper, with a card that says how to fix it.',
  'On a calm evening you can see why it costs what it costs.',
  'The colour comes from the wood; the shine comes from years.',
  'Returned twice in eleven years, both times with an apology.',
] as const

/** Plain text of at least `length` characters, different for each `start`. */
export function prose(start: number, length: number): string {
  const sentences: string[] = []
  for (let at = start, size = 0; size < length; at += 1 + (start % 5)) {
    const sentence = SENTENCES[at % SENTENCES.length] as string
    sentences.push(sentence)
    size += sentence.length + 1
  }
  return sentences.join(' ')
}
