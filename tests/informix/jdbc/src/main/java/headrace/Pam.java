package headrace;

import com.informix.jdbcx.IfxPAMChallenge;
import com.informix.jdbcx.IfxPAMResponse;
import com.informix.jdbcx.PAM;
import com.informix.jdbcx.PAMResponseImpl;

/** Answers the questions of PAM with the answers that the tests have given the server. */
public final class Pam implements PAM {
    /** The driver makes one by itself. */
    public Pam() {
    }

    @Override
    public IfxPAMResponse pamChallenge(IfxPAMChallenge challenge) {
        boolean colour = challenge.getChallenge().startsWith("colour");
        return new PAMResponseImpl(colour ? "blue" : "42", challenge.getChallengeType());
    }
}
