//! SplitMix64 (G. Steele, D. Lea, C. Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
//!
//! Its state only counts, in steps of an odd constant, and its output is a hash of the state. So any output can be
//! computed without those before it, as rows that are functions of their number require.

/// The step of the state: 2^64 divided by the golden ratio, made odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The `n`-th output, counted from 0, of a SplitMix64 seeded with `seed`.
pub fn output(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(GAMMA));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number below `n` from 32 random bits; no number is likelier than another by more than `n` in 2^32.
pub fn below(bits: u32, n: u32) -> u32 {
    ((u64::from(bits) * u64::from(n)) >> 32) as u32
}

/// Both halves of an output.
pub fn halves(output: u64) -> (u32, u32) {
    ((output >> 32) as u32, output as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_those_of_the_published_algorithm() {
        // The outputs of the reference implementation for this seed, as test suites of many languages have them.
        let known = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for (n, expected) in known.into_iter().enumerate() {
            assert_eq!(output(1_234_567, n as u64), expected);
        }
        assert_eq!(output(0, 0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        assert_eq!((below(0, 10), below(u32::MAX, 10), below(u32::MAX, 1)), (0, 9, 0));
        assert_eq!(below(u32::MAX, u32::MAX), u32::MAX - 1);
    }
}
